"""Symbols that a library shows to others: exports=[…], and what the source itself marks as visible."""

import ctypes
import subprocess

import pytest

import tarsia

SOURCE = """
#include <string>
#include <vector>
extern "C" int c_function(int x) { return x + 1; }
namespace ns {
int f(int x) { return x + 2; }
int f(double x) { return int(x) + 3; }
int variable = 42;
struct Shape { static int corners() { return 4; } int area() const; int side; };
int Shape::area() const { return side * side; }
template <class T> T twice(T x) { return x + x; }
template int twice<int>(int);
}
namespace ns { static int kept() { return 1; } int (*volatile pointer)() = kept; template <class T> T never(T x) { return x; } }
static int unseen(int x) { return x; }
int call(int x) { return unseen(x) + int(std::vector<std::string>(x).size()); }
"""


def test_a_library_shows_nothing_by_itself():
    assert tarsia.load_inline(SOURCE).symbols == {}


def test_names_of_c_and_c_plus_plus_are_shown():
    lib = tarsia.load_inline(SOURCE, exports=["c_function", "ns::f", "::ns::variable", "ns::Shape::area", "ns::twice<int>"])
    assert list(lib.symbols) == ["_ZN2ns1fEd", "_ZN2ns1fEi", "_ZN2ns5twiceIiEET_S1_", "_ZN2ns8variableE", "_ZNK2ns5Shape4areaEv",
                                 "c_function"]
    assert ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lib.symbols["c_function"])(4) == 5
    assert ctypes.c_int.from_address(lib.symbols["_ZN2ns8variableE"]).value == 42
    assert lib.c_function(1) == 2


def test_what_the_source_marks_as_visible_is_shown():
    lib = tarsia.load_inline("""
        #define SHOWN __attribute__((visibility("default")))
        extern "C" SHOWN int entry(int x) { return x + 5; }
        SHOWN int variable = 3;
        namespace ns { SHOWN int f() { return 1; } }
        #pragma GCC visibility push(default)
        int pushed() { return 2; }
        #pragma GCC visibility pop
        int hidden() { return 3; }
    """)
    assert list(lib.symbols) == ["_Z6pushedv", "_ZN2ns1fEv", "entry", "variable"]


def test_functions_that_initialise_a_module_of_python_are_shown_without_a_mark():
    lib = tarsia.load_inline('extern "C" { void* PyInit__C(void) { return nullptr; } }')
    assert list(lib.symbols) == ["PyInit__C"]


def test_in_c_too():
    lib = tarsia.load_inline({"a.c": "int f(int x) { return x; }\nint g(int x) { return x + 1; }\n"}, exports=["g"])
    assert list(lib.symbols) == ["g"]


def test_a_source_that_shows_symbols_needs_nothing_to_call(tmp_path):
    source = 'struct Thing { int x; };\nextern "C" int entry(Thing* t) { return t->x; }\n'
    lib = tarsia.load_inline(source, functions=[], exports=["entry"])
    assert lib.functions == () and list(lib.symbols) == ["entry"]
    tarsia.compile(source, tmp_path / "libthing.so", functions=[], exports=["entry"])
    (tmp_path / "main.c").write_text("int entry(int*);\nint main() { int x = 7; return entry(&x); }\n")
    subprocess.run(["gcc", "main.c", "libthing.so", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run(["./main"], cwd=tmp_path, env={"LD_LIBRARY_PATH": str(tmp_path)})
    assert done.returncode == 7


@pytest.mark.parametrize("name, words", [("nothing", "defines no function or variable 'nothing'"),
                                         ("unseen", "'unseen', or it is static"), ("ns::kept", "'ns::kept' is static"),
                                         ("ns::never", "or inline or a template that nothing uses"),
                                         ("f", "write the qualified name")])
def test_a_name_that_cannot_be_shown_is_an_error_that_says_why(name, words):
    with pytest.raises(tarsia.CompileError, match=words):
        tarsia.load_inline(SOURCE, exports=["c_function", name])


def test_a_kernel_needs_no_export():
    source = "namespace n { template <class T> __global__ void k(T* x) { *x = 1; }\n__global__ void one(float* x) { *x = 1; } }\n"
    with pytest.raises(tarsia.CompileError, match="'n::one' is a kernel, which a library has without that: take it away"):
        tarsia.load_inline(source, exports=["n::one"])


@pytest.mark.parametrize("name", ["", "a\nb", 'a"b', "a\\b"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(tarsia.ArgumentValueError, match="exports: .* is no name of a function or variable"):
        tarsia.load_inline("int f() { return 1; }", exports=[name])


def test_two_libraries_may_show_the_same_name():
    libs = [tarsia.load_inline(f'extern "C" int entry() {{ return {i}; }}', exports=["entry"]) for i in range(2)]
    assert [ctypes.CFUNCTYPE(ctypes.c_int)(lib.symbols["entry"])() for lib in libs] == [0, 1]


def test_static_registrations_run_when_the_library_is_loaded_and_end_when_it_goes(tmp_path):
    log = tmp_path / "log"
    lib = tarsia.load_inline(f"""
        #include <cstdio>
        static void note(const char* what) {{ std::FILE* f = std::fopen("{log}", "a"); std::fputs(what, f); std::fclose(f); }}
        struct Registration {{ Registration() {{ note("came "); }} ~Registration() {{ note("went "); }} }};
        namespace {{ const Registration registration; }}
    """)
    assert log.read_text() == "came " and list(lib) == []
    del lib
    assert log.read_text() == "came went "


def test_what_a_static_initialiser_throws_is_an_error_of_the_load(tmp_path):
    log = tmp_path / "log"
    source = f"""
        #include <cstdio>
        #include <stdexcept>
        struct Noted {{ ~Noted() {{ std::FILE* f = std::fopen("{log}", "a"); std::fputs("went", f); std::fclose(f); }} }};
        static Noted noted;
        static int fail() {{ throw std::runtime_error("the name is taken"); }}
        static const int failed = fail();
        int f() {{ return failed; }}
    """
    with pytest.raises(tarsia.LoadError, match="a static initialiser threw: the name is taken"):
        tarsia.load_inline(source)
    assert log.read_text() == "went"


@pytest.mark.parametrize("thrown, told", [("3", "an exception of type int"), ("Own{}", "an exception of type Own"), ('"no room"', "no room"),
                                          ('std::string("no disk")', "no disk")], ids=["int", "class", "text", "string"])
def test_the_type_of_what_a_static_initialiser_throws_is_told(thrown, told):
    with pytest.raises(tarsia.LoadError, match=f"a static initialiser threw: {told}$"):
        tarsia.load_inline(f"#include <string>\nstruct Own {{}};\nstatic int v = []() -> int {{ throw {thrown}; }}();\nint f() {{ return v; }}")


def test_a_source_that_does_nothing_is_still_an_error():
    with pytest.raises(tarsia.LoadError, match="no function, kernel or op"):
        tarsia.load_inline("#include <iostream>\nstatic const int x = 3;\nstatic int f() { return x; }\n")


def test_kernels_that_are_made_later_do_not_need_the_names():
    lib = tarsia.load_inline("template <class T> __global__ void k(T* x) { *x = 1; }\n"
                             'extern "C" int entry() { return 1; }', exports=["entry"])
    assert lib.k["float"].ptx is not None if hasattr(lib.k["float"], "ptx") else lib.k["float"]


def test_what_a_macro_of_a_header_makes_is_no_skipped_function_of_the_users(tmp_path):
    (tmp_path / "module.h").write_text("#pragma once\n#define MODULE(name) static void name##_init(int); struct name##_module { name##_module() "
                                       "{ name##_init(1); } } name##_made; void name##_open(void**) {} static void name##_init(int x)\n")
    source = ('#include "module.h"\n#define MINE(name) static int name##_mine() { return 1; }\n'
              "static int seen;\nMODULE(one) { seen = x; }\nMINE(a)\nint number() { return seen + a_mine(); }\n")
    lib = tarsia.load_inline(source, include_dirs=[tmp_path])
    assert (lib.number(), lib.functions, set(lib.skipped)) == (2, ("number",), {"a_mine"})
