"""The code of docs/coming_from/ runs as it stands there."""

import re

import pages
import pytest

import tarsia


def test_the_page_on_mobulaop_runs(tmp_path, monkeypatch, capsys):
    pytest.importorskip("torch")
    from tarsia import mobula

    monkeypatch.chdir(tmp_path)
    ops, functions = dict(mobula.glue.CUSTOM_OP_LIST), dict(mobula.func._bound)
    try:
        page = "coming_from/mobula.md"
        assert pages.run(page, False) == len(list(pages.blocks(page))) >= 8
        out = capsys.readouterr().out
        # What the comments behind print say.
        said = re.findall(r"^ *print\(.*\) +# (.*)$", (pages.DOCS / page).read_text(), re.M)
        assert len(said) == 5 and [line for line in said if line not in out] == []
        assert "op 'mobula_Product' passes" in out
    finally:
        for held, before in ((mobula.glue.CUSTOM_OP_LIST, ops), (mobula.func._bound, functions)):
            held.clear()
            held.update(before)


def test_every_page_is_in_the_index():
    index = (pages.DOCS / "coming_from.md").read_text()
    assert [page.name for page in (pages.DOCS / "coming_from").glob("*.md") if f"(coming_from/{page.name})" not in index] == []


def test_the_page_on_class_operators_runs():
    page = "coming_from/class_operators.md"
    assert pages.run(page, False) == len(list(pages.blocks(page))) >= 2


def test_the_c_plus_plus_of_the_page_on_class_operators_compiles():
    (code,) = re.findall(r"^```cpp\n(.*?)^```", (pages.DOCS / "coming_from/class_operators.md").read_text(), re.M | re.S)
    assert tarsia.load_inline(code + "int compiled() { return 7; }\n").compiled() == 7
