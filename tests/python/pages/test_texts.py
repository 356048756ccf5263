"""What people read: links and paths in the pages lead somewhere, source files open by saying what they are, and the table of
work-arounds is that of the sources."""

import ast
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
    for name in re.findall(r"`([\w*/]+\.(?:\*|c|cpp))`", text):
        if name.split("/")[0] not in FOLDERS and not any(any((REPO / folder).rglob(name)) for folder in FOLDERS):
            yield name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPO)))
def test_links_and_paths_lead_somewhere(page):
    assert [*dead_links(page), *missing_files(page)] == []


def test_dead_links_and_missing_files_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# A title: `it`\n[here](#a-title-it) [there](other.md) [gone](#gone) `no[link](here)` `base/hash.h` `base/no_such.*` `base/` `ha*.*` `no_such.*`\n")
    assert list(dead_links(page)) == ["other.md: no such file", "#gone: no such heading"]
    assert list(missing_files(page)) == ["base/no_such.*", "no_such.*"]


# Programs as their authors wrote them, which tests only run.
FOREIGN = REPO / "tests" / "programs"


def sources():
    """All files of code: the folders' by their suffixes or as CMake's, and scripts."""
    suffixes = {".h", ".c", ".cc", ".cpp", ".cu", ".py", ".pyi", ".cmake"}
    for folder in FOLDERS:
        for path in sorted((REPO / folder).rglob("*")):
            if path.is_file() and FOREIGN not in path.parents and "__pycache__" not in path.parts:
                if path.suffix in suffixes or path.name == "CMakeLists.txt" or folder == "scripts":
                    yield path
    yield REPO / "CMakeLists.txt"
    yield REPO / ".ci" / "run"


def says_what_it_is(path):
    """Whether a file opens with a comment or docstring of at least three words."""
    text = re.sub(r"\A#!.*\n", "", path.read_text(errors="replace"))
    if path.suffix == ".py" or text.startswith(('"""', 'r"""')):
        opening = ast.get_docstring(ast.parse(text)) or ""
    else:
        found = re.match(r"(?://|#(?!\s*(?:include|pragma|if|define)\b)|/\*+)\s*(.+)", text)
        opening = found.group(1) if found else ""
    return len(opening.split()) >= 3


def test_every_source_file_opens_by_saying_what_it_is():
    checked = list(sources())
    assert len(checked) > 400
    assert [str(path.relative_to(REPO)) for path in checked if not says_what_it_is(path)] == []


PRODUCT = ("api", "base", "bindings", "cache", "graph", "include", "jit", "pipeline", "python", "registry", "session", "tools")


# The table, what `scripts/options --write` makes of it, and what acts on the option.
NAMES_LINEINFO = {"bindings/rust/src/ffi/option_fields.rs", "bindings/rust/src/options/rows.rs", "include/tarsia/compile_options.h",
                  "jit/compile_options.h", "jit/worker/prelude/prelude.cpp", "pipeline/cflags.cpp", "python/tarsia/_compile/source_file.py",
                  "tools/sanitize/sanitize.cpp", "tools/show.cpp", "tools/words.cpp"}


def test_few_files_name_an_option_of_the_table():
    """Faces, protocol and key follow from the table: an option is named where it is acted on alone."""
    naming = {str(path.relative_to(REPO)) for folder in PRODUCT for path in (REPO / folder).rglob("*")
              if path.suffix in (".h", ".c", ".cpp", ".py", ".rs") and "tests" not in path.parts and "lineinfo" in path.read_text(errors="replace")}
    assert sorted(naming - NAMES_LINEINFO) == [], "what these do follows from the table"
    assert sorted(NAMES_LINEINFO - naming) == [], "these name it no more"


@pytest.mark.parametrize(
    "name, text, says",
    [
        ("a.cpp", "// Counts the sheep of a flock.\n#include <a.h>\n", True),
        ("a.cpp", '#include "a.h"\n// Counts the sheep of a flock.\n', False),
        ("a.h", "#pragma once  // counts sheep\n", False),
        ("a.py", '#!/usr/bin/env python3\n"""Counts the sheep of a flock."""\n', True),
        ("a.py", "import re\n", False),
        ("a.pyi", "# Types of the flock.\n", True),
        ("run", "#!/bin/sh\n# Counts the sheep.\n", True),
        ("run", "#!/bin/sh\nset -e\n", False),
    ],
)
def test_openings_are_told_from_code(tmp_path, name, text, says):
    path = tmp_path / name
    path.write_text(text)
    assert says_what_it_is(path) == says


WORKAROUND = re.compile(r"Work-around: (?P<name>.{1,120}?)(?:, see (?P<see>[\w./-]+\w)|\. Trigger: .+? Symptom: .+? Removal: \w)")


def workarounds(text):
    """(name, path of the place that explains it or None) of a text's comments; no name: the comment lacks one of its parts."""
    flat = re.sub(r"\n[ \t]*(?://+|#+)?[ \t]*", " ", text)
    starts = [found.start() for found in re.finditer("Work-around:", flat)]
    for start, end in zip(starts, [*starts[1:], len(flat)]):
        found = WORKAROUND.match(flat[start:end].replace("  ", " "))
        yield (found["name"].replace("`", ""), found["see"]) if found else (None, flat[start:start + 60])


def table_of_workarounds(text):
    """(whose, name, {path: the names that stand in it}) of the page's rows."""
    for row in re.findall(r"^\| (.+) \|$", text, re.M)[2:]:
        cells = row.split(" | ")
        assert len(cells) == 6, row
        places = re.findall(r"`([\w./-]+)`(?: \(((?:`\w+`(?:, )?)+)\))?", cells[4])
        yield cells[0], cells[1].replace("`", ""), {path: re.findall(r"\w+", names) for path, names in places}


def test_the_table_of_workarounds_is_that_of_the_sources():
    explained, places = {}, set()
    for path in sources():
        if path.relative_to(REPO).parts[0] in ("docs", "tests"):
            continue
        file = str(path.relative_to(REPO))
        for name, see in workarounds(path.read_text(errors="replace")):
            assert name, f"{file}: a comment lacks its name, trigger, symptom or removal: {see}"
            places.add((name, file))
            if see:
                assert (REPO / see).is_file(), f"{file}: no such file: {see}"
            else:
                assert name not in explained, f"explained in {file} and {explained[name]}: {name}"
                explained[name] = file
    rows = list(table_of_workarounds((DOCS / "workarounds.md").read_text()))
    assert len(rows) > 40 and len(rows) == len(explained)
    assert {(name, path) for _, name, where in rows for path in where} == places
    assert {name for _, name, _ in rows} == set(explained)


def test_the_table_of_workarounds_is_sorted_and_its_places_exist():
    rows = list(table_of_workarounds((DOCS / "workarounds.md").read_text()))
    keys = [(whose.casefold(), name.casefold()) for whose, name, _ in rows]
    assert keys == sorted(keys)
    for _, name, where in rows:
        for path, words in where.items():
            text = (REPO / path).read_text()
            assert [word for word in words if not re.search(rf"{word}\b", text)] == [], f"{name}: {path}"


def test_comments_of_workarounds_are_read():
    whole = "  // Work-around: X does not\n  // know `Y`.\n  // Trigger: y. Symptom: an error.\n  // Removal: X knows it.\n"
    assert list(workarounds(whole + "# Work-around: A.b lies, see base/a.h.\n")) == [("X does not know Y", None), ("A.b lies", "base/a.h")]
    for part in ("Trigger: y.", "Symptom: an error.", "Removal: X knows it."):
        assert [name for name, _ in workarounds(whole.replace(part, "") + whole)] == [None, "X does not know Y"]


def test_every_test_that_the_changelog_names_exists():
    known = {f"test_unit_{folder.name}" for folder in (REPO / "tests/unit").iterdir()}  # programs
    for path in (REPO / "tests").rglob("test_*"):
        known.add(path.stem)
        if path.suffix == ".py":
            known.update(re.findall(r"^def (test_\w+)\(", path.read_text(), re.MULTILINE))
        elif path.suffix == ".cpp":
            known.update("test_" + name for name in re.findall(r"^TEST(?:_F|_P)?\(\w+,\s*(\w+)\)", path.read_text(), re.MULTILINE))
    named = re.findall(r"\btest_\w+", (REPO / "CHANGELOG.md").read_text())
    assert len(named) > 50
    assert [name for name in dict.fromkeys(named) if name not in known] == []
