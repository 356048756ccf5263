"""The README and the pages of docs/: links lead to pages and headings that exist, and paths in them name files that exist."""

import re

import pytest
from pages import DOCS

REPO = DOCS.parent
PAGES = sorted([REPO / "README.md", *DOCS.rglob("*.md")])
CODE = re.compile(r"^```.*?^```$|^<!--.*?-->$", re.M | re.S)
FOLDERS = sorted(path.name for path in REPO.iterdir() if path.is_dir() and not path.name.startswith(".") and path.name not in ("build", "dist"))


def anchors(page):
    """The anchors that GitHub gives to a page's headings."""
    titles = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def dead_links(page):
    prose = re.sub(r"`[^`\n]*`", "code", CODE.sub("", page.read_text()))
    for target in re.findall(r"\]\(([^)\s]+)\)", prose):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file):
            yield f"{target}: no such heading"


def missing_files(page):
    """Names in backquotes, like `base/hash.h`, `device_*` within a folder and `split.*` in any, of which there is no file."""
    text = CODE.sub("", page.read_text())
    for name in re.findall(rf"`((?:{'|'.join(FOLDERS)})/[\w./*-]*)`", text):
        if not any(REPO.glob(name.rstrip("/"))):
            yield name
    for name in re.findall(r"`([\w*]+\.\*)`", text):
        if not any(any((REPO / folder).rglob(name)) for folder in FOLDERS):
            yield name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
def test_links_and_paths_lead_somewhere(page):
    assert [*dead_links(page), *missing_files(page)] == []


def test_dead_links_and_missing_files_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title: `it`\n[here](#a-title-it) [there](other.md) [gone](#gone) `no[link](here)` `base/hash.h` `base/no_such.*` `base/` `ha*.*` `no_such.*`\n")
    assert list(dead_links(page)) == ["other.md: no such file", "#gone: no such heading"]
    assert list(missing_files(page)) == ["base/no_such.*", "no_such.*"]
