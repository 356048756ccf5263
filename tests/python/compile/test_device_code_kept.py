"""Device code that is kept: after an edit of host code it is not compiled again."""

import os

import pytest

import tarsia

pytestmark = pytest.mark.filterwarnings("ignore::tarsia.CompileWarning")
KERNEL = "k" + os.urandom(8).hex()  # the cache may have other runs' kernels
HOST = "int answer(int x) { return x + 1; }\n"
WARNS = f"__device__ int nothing() {{ }}\n__global__ void {KERNEL}(int* x) {{ *x = nothing(); }}\n"
MACROS = "#pragma once\n#define LINE_OF_ITS_USER() __LINE__\n#define TOLD LINE_OF_ITS_USER()\n#define PLAIN 3\n"


def compiled(source, **options):
    """Whether NVRTC was asked, and the warnings."""
    lib = tarsia.load_inline(source, arch="sm_90", **options)
    steps = [step for step, _ in tarsia.stats()["last_compile"]]
    return any(step.startswith("device nvrtc") for step in steps), [(one.line, one.message) for one in lib.warnings]


def test_its_warnings_are_kept_with_it():
    asked, warnings = compiled(WARNS.replace(KERNEL, "w" + KERNEL) + HOST)
    assert asked and [line for line, _ in warnings] == [1]
    assert compiled(WARNS.replace(KERNEL, "w" + KERNEL) + HOST + "int more(int x) { return x; }\n") == (False, warnings)


def test_where_a_warning_tells_a_line_the_lines_count():
    _, [(line, message)] = compiled(WARNS + HOST)
    assert compiled("\n" + HOST + WARNS) == (True, [(line + 2, message)])


@pytest.mark.parametrize(("value", "again"), [("PLAIN", False), ("TOLD", True)])
def test_lines_count_where_a_macro_tells_them(value, again):
    kernel = f"__global__ void {KERNEL}_{value}(int* x) {{ *x = {value}; }}\n"
    headers = {"macros.h": MACROS}
    assert compiled('#include "macros.h"\n' + kernel + HOST, headers=headers) == (True, [])
    assert compiled('#include "macros.h"\n' + HOST + kernel, headers=headers) == (again, [])
