"""Sources that would keep a compiler busy for ever, or have it read without end: the limit of time holds, and nothing is lost."""

import os
import time

import pytest

import tarsia

try:
    tarsia.load_inline("int probe() { return 1; }")
except tarsia.Error as error:
    if not isinstance(error, (tarsia.NotFound, tarsia.Unsupported)):
        raise
    pytest.skip(f"no compiler: {error}", allow_module_level=True)

TEMPLATES = """
template <class A, class B> struct Pair {};
template <int N, class T> struct Tree {
  typedef typename Tree<N - 1, Pair<T, int>>::type left;
  typedef typename Tree<N - 1, Pair<T, char>>::type right;
  typedef Pair<left, right> type;
};
template <class T> struct Tree<0, T> { typedef T type; };
"""
MACROS = "#define B0 1+1\n" + "".join(f"#define B{i} B{i - 1}+B{i - 1}\n" for i in range(1, 40))
HOST = {
    "templates": TEMPLATES + "int f() { return sizeof(Tree<30, int>::type); }",
    "macros": MACROS + "int f() { return B39; }",
}
DEVICE = {
    "templates": TEMPLATES + "__global__ void k(int* x) { *x = sizeof(Tree<30, int>::type); }",
    "macros": MACROS + "__global__ void k(int* x) { *x = B39; }",
}


def compiles_still():
    return tarsia.load_inline(f"int after() {{ return 9; }} // {os.urandom(8).hex()}").after() == 9


@pytest.mark.parametrize("source", [*HOST.values(), *DEVICE.values()], ids=[f"{where}-{what}" for where in ("host", "device") for what in HOST])
def test_what_explodes_ends_at_the_time_limit(source):
    options = {"arch": "sm_90"} if "__global__" in source else {}
    limit = 2
    assert compiles_still()  # the worker has begun
    begun = time.monotonic()
    with pytest.raises(tarsia.CompileTimeout, match=f"took longer than {limit} s"):
        tarsia.load_inline(source, timeout=limit, **options)
    assert time.monotonic() - begun < 60  # the compile alone is limited; a busy machine takes its time to begin with it
    assert compiles_still()


@pytest.mark.parametrize("head", ["int f(int x) { return ", "__global__ void f(int x, int* y) { *y = "], ids=["host", "device"])
def test_an_expression_of_300_000_terms_is_code_or_an_error(head):
    options = {"arch": "sm_90"} if "__global__" in head else {}
    try:
        tarsia.load_inline(head + "x" + " + x" * 300_000 + "; }", timeout=5, **options)
    except tarsia.Error as error:
        assert isinstance(error, (tarsia.CompileTimeout, tarsia.ResourceLimit, tarsia.CompileError, tarsia.CompilerCrashed))
    assert compiles_still()


def test_a_recursion_of_templates_without_an_end_is_a_diagnostic():
    with pytest.raises(tarsia.CompileError, match="recursive template instantiation exceeded maximum depth"):
        tarsia.load_inline("template <int N> int f() { return f<N + 1>(); }\nint g() { return f<0>(); }")


@pytest.mark.parametrize("compiler, said", [("nvrtc", "excessive recursion at instantiation"), ("clang", "recursive template instantiation exceeded"),
                                            ("auto", "recursi")])
def test_a_recursion_of_templates_without_an_end_is_a_diagnostic_of_device_code_too(compiler, said):
    source = "template <int N> __device__ int f() { return f<N + 1>(); }\n__global__ void k(int* x) { *x = f<0>(); }"
    with pytest.raises(tarsia.CompileError, match=said):
        tarsia.load_inline(source, arch="sm_90", device_compiler=compiler, timeout=100)
    assert compiles_still()


@pytest.mark.parametrize("head", ["int f() { return ", "__global__ void f(int* y) { *y = "], ids=["host", "device"])
def test_200_000_nested_parentheses_are_an_error(head):
    options = {"arch": "sm_90"} if "__global__" in head else {}
    with pytest.raises(tarsia.Error) as caught:
        tarsia.load_inline(head + "(" * 200_000 + "1" + ")" * 200_000 + "; }", timeout=60, **options)
    # NVRTC overflows its stack.
    assert isinstance(caught.value, (tarsia.CompileError, tarsia.ResourceLimit, *([tarsia.CompilerCrashed] if options else [])))
    assert compiles_still()


@pytest.mark.parametrize("what", ["/dev/zero", "/dev/urandom", "pipe"])
def test_what_has_no_end_is_not_included(what, tmp_path):
    if what == "pipe":
        os.mkfifo(tmp_path / "pipe")
    with pytest.raises(tarsia.CompileError, match=what):
        tarsia.load_inline(f'#include "{what}"\nint f() {{ return 1; }}', include_dirs=[tmp_path], timeout=20)
    assert compiles_still()
