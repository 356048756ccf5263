"""The code of a page of docs/, as a reader would type it in."""

import re

from places import REPO

DOCS = REPO / "docs"


def blocks(page):
    """(line, code, whether it needs a GPU) of the Python blocks of a page, in order."""
    text = (DOCS / page).read_text()
    for found in re.finditer(r"(<!-- needs a GPU -->\n)?```python\n(.*?)```", text, re.S):
        yield text[:found.start(2)].count("\n") + 1, found.group(2), found.group(1) is not None


def run(page, gpu):
    """Runs the blocks of a page one after another, those that need a GPU only with one. Gives how many were run."""
    variables, n = {"__name__": "__main__"}, 0
    for line, code, needs_gpu in blocks(page):
        if needs_gpu and not gpu:
            continue
        # Lines of errors are those of the page.
        exec(compile("\n" * (line - 1) + code, str(DOCS / page), "exec"), variables)
        n += 1
    return n
