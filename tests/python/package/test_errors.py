"""The classes of errors: one for each row of <tarsia/detail/error_rows.h>, known by a public name and documented."""

import importlib
import pickle
import pkgutil
import re
import subprocess
import sys
import traceback

import places
import pytest

import tarsia
from pages import DOCS

HEADER = places.REPO / "include/tarsia/detail/error_rows.h"
ROWS = re.findall(r"^\s*X\((TARSIA_\w+),\s*(\d+),\s*(\w+),\s*(\w+),\s*(\w+)\)", HEADER.read_text(), re.MULTILINE)

# Throws each error as a library's own code can: with a code of the table.
THROWS = """
#include <tarsia/op.h>
int codes[] = {
#define TARSIA_DETAIL_ROW(code_, number_, enumerator_, cpp_, python_) code_,
    TARSIA_DETAIL_ERROR_ROWS(TARSIA_DETAIL_ROW)
#undef TARSIA_DETAIL_ROW
};
int n() { return sizeof(codes) / sizeof(codes[0]); }
int code(int i) { return codes[i]; }
void fail(int i) { throw tarsia::CallError(codes[i], "as asked"); }
"""


def test_each_code_raises_its_class():
    lib = tarsia.load_inline(THROWS)
    assert lib.n() == len(ROWS) > 0
    for i, (name, number, _, _, python) in enumerate(ROWS):
        assert lib.code(i) == int(number), name
        with pytest.raises(tarsia.Error, match="as asked") as caught:
            lib.fail(i)
        assert type(caught.value) is getattr(tarsia, python), name


def test_numbers_are_given_once():
    numbers = [int(number) for _, number, _, _, _ in ROWS]
    assert numbers == list(range(1, len(ROWS) + 1))


def test_all_classes_are_documented():
    for language, column in (("python", 4), ("cpp", 3)):
        page = (DOCS / f"{language}.md").read_text()
        missing = [row[column] for row in ROWS if not re.search(rf"`{row[column]}`|`tarsia::{row[column]}`", page)]
        assert missing == [] or missing == ["Error"], language


def exceptions():
    """All classes of exceptions that the package's modules define or hold."""
    found = set()
    for module in pkgutil.walk_packages(tarsia.__path__, "tarsia."):
        try:
            names = vars(importlib.import_module(module.name))
        except (ImportError, AttributeError):  # it needs PyTorch, JAX or IPython, and that is not there
            continue
        found |= {one for one in names.values() if isinstance(one, type) and issubclass(one, BaseException)
                  and one.__module__.split(".")[0] == "tarsia"}
    waiting = [tarsia.Error]
    while waiting:
        waiting += [one for one in waiting.pop().__subclasses__() if one.__module__.startswith("tarsia") and one not in found
                    and not found.add(one)]
    return found


def test_every_exception_shows_its_public_name():
    found = exceptions()
    assert {tarsia.CompileError, tarsia.MissingFunction, tarsia.Interrupted} <= found
    for one in found:
        assert one.__module__ == "tarsia" and getattr(tarsia, one.__qualname__) is one, one
    with pytest.raises(tarsia.NotFound) as caught:
        tarsia.op("no_such_op_at_all")
    text = "".join(traceback.format_exception_only(type(caught.value), caught.value))
    assert text.startswith("tarsia.NotFound: ")
    assert type(pickle.loads(pickle.dumps(caught.value))) is tarsia.NotFound


def test_so_do_those_raised_before_the_extension_is_there():
    code = """
import sys
sys.modules["tarsia._tarsia"] = None  # cannot be imported
try:
    import tarsia
except ImportError:
    from errno import EMFILE
    early = sys.modules["tarsia._errors"].of_import(OSError(EMFILE, "Too many open files"))
    raise early from None
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "\ntarsia.ResourceLimit: " in done.stderr, done.stderr
