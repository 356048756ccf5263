"""The API reference names everything that is public, and nothing that is not there."""

import importlib
import inspect
import re

import pytest

import tarsia
from pages import DOCS

PAGE = (DOCS / "api.md").read_text()


def test_all_public_names_are_on_the_page():
    missing = [name for name in tarsia.__all__ if not re.search(rf"`tarsia\.{re.escape(name)}\b", PAGE)]
    assert missing == []


@pytest.mark.parametrize("module", ["torch", "jax", "testing", "tvm_ffi"])
def test_all_names_of_modules_are_on_the_page(module):
    if module in ("torch", "jax"):
        pytest.importorskip(module)
    public = importlib.import_module(f"tarsia.{module}")
    names = getattr(public, "__all__", None) or [n for n in dir(public) if getattr(getattr(public, n), "__module__", "") == public.__name__]
    assert [name for name in names if f"`tarsia.{module}.{name}" not in PAGE] == []


@pytest.mark.parametrize("kind", ["Library", "Function", "Kernel", "KernelLaunch", "Op", "BoundOp", "Tensor", "Graph", "BoundGraph", "GraphValue",
                                  "CapturedGraph", "Cell", "KernelTemplate", "Plan"])
def test_attributes_are_on_the_page(kind):
    rows = PAGE[PAGE.index(f"| `tarsia.{kind}` |"):]
    rows = re.match(r".*\n(?:\| \| .*\n)*", rows).group()
    public = [name for name in dir(getattr(tarsia, kind)) if not name.startswith("_")]
    assert [name for name in public if not re.search(rf"`\.{name}\b", rows)] == []


def test_what_the_page_names_is_there():
    names = re.findall(r"`tarsia\.([A-Za-z_]+)\b(?!\.)", PAGE)
    assert len(names) > 20
    for name in names:
        assert hasattr(tarsia, name) or name in ("torch", "jax", "testing", "tvm_ffi"), name


def test_signatures_are_the_real_ones():
    for name in ("load_inline", "compile_all", "elementwise", "implementation", "reduction"):
        function = getattr(tarsia, name)
        shown = re.search(rf"`tarsia\.{name}\((.*?)\)`", PAGE).group(1)
        wanted = str(inspect.signature(function))[1:-1].replace("'", '"')
        assert shown == wanted, name
