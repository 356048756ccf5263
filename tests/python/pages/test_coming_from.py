"""The pages on sources that were written for other interfaces run as they stand there."""

import pages


def test_the_page_on_class_operators_runs():
    page = "coming_from/class_operators.md"
    assert pages.run(page, False) == len(list(pages.blocks(page))) >= 2
