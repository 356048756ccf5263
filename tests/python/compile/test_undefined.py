"""What becomes of symbols that neither the source nor a library defines: undefined="error" and undefined="load"."""

import subprocess
import sys
import textwrap

import pytest

import tarsia

USES = "namespace elsewhere { int number(int); }\nint twice(int x) { return 2 * elsewhere::number(x); }\n"
DEFINES = '__attribute__((visibility("default"))) int number(int x) { return x + 1; }'


def test_by_default_they_are_errors_that_name_the_symbol_and_the_remedy():
    with pytest.raises(tarsia.CompileError, match=r"undefined symbol: elsewhere::number\(int\); define it, or name the library"):
        tarsia.load_inline(USES)


def test_what_no_library_defines_is_an_error_of_the_load(tmp_path):
    with pytest.raises(tarsia.LoadError, match=r"uses elsewhere::number\(int\) \[_ZN9elsewhere6numberEi\], which no library"
                                               r" defines .*RTLD_GLOBAL.*libraries=\["):
        tarsia.load_inline(USES, undefined="load")
    tarsia.compile(USES, tmp_path / "a.so", undefined="load")
    with pytest.raises(tarsia.LoadError, match=r"a\.so uses elsewhere::number\(int\)"):
        tarsia.load(tmp_path / "a.so")


def test_the_loader_finds_them_in_a_library_that_is_loaded_for_all(tmp_path):
    (tmp_path / "use.py").write_text(textwrap.dedent(f"""
        import ctypes, sys, tarsia
        ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL)
        print(tarsia.load_inline({USES!r}, undefined="load").twice(4))
    """))
    (tmp_path / "other.cc").write_text(f"namespace elsewhere {{ {DEFINES} }}\n")
    subprocess.run(["g++", "-shared", "-fPIC", "other.cc", "-o", "libother.so"], cwd=tmp_path, check=True)
    done = subprocess.run([sys.executable, "use.py", "./libother.so"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "10\n", done.stderr


def test_a_library_that_is_named_is_linked_all_the_same(tmp_path):
    (tmp_path / "other.cc").write_text(f"namespace elsewhere {{ {DEFINES} }}\n")
    subprocess.run(["g++", "-shared", "-fPIC", "other.cc", "-o", "libother.so"], cwd=tmp_path, check=True)
    lib = tarsia.load_inline(USES, undefined="load", libraries=["other"], library_dirs=[tmp_path])
    assert lib.twice(1) == 4


def test_parts_of_a_program_are_compiled_though_they_have_nothing_to_call(tmp_path):
    tarsia.compile("struct Other; int count(Other*); static int f(Other* x) { return count(x); }\n"
                   "int (*volatile kept)(Other*) = f;", tmp_path / "part.so", undefined="load")
    assert (tmp_path / "part.so").read_bytes().startswith(b"\x7fELF")


def test_only_the_first_of_many_are_listed():
    source = "".join(f"int no_{i}();\n" for i in range(200)) + "int f() { return " + "+".join(f"no_{i}()" for i in range(200)) + "; }"
    with pytest.raises(tarsia.CompileError) as raised:
        tarsia.load_inline(source)
    messages = [one.message for one in raised.value.diagnostics]
    assert len(messages) == 51 and messages[-1] == "150 more symbols are undefined"


def test_names_of_python_are_left_to_the_process():
    lib = tarsia.load_inline('extern "C" const char* Py_GetVersion();\nint first() { return Py_GetVersion()[0]; }')
    assert chr(lib.first()) == str(sys.version_info.major)


def test_a_name_of_python_that_the_process_lacks_is_an_error_that_says_so():
    with pytest.raises(tarsia.LoadError, match="uses Py_NoSuchThing of Python's C API, which this process does not have"):
        tarsia.load_inline('extern "C" int Py_NoSuchThing();\nint f() { return Py_NoSuchThing(); }')


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_device_variables_that_are_only_declared_are_defined_as_by_nvcc(tmp_path, compiler):
    (tmp_path / "own.h").write_text("extern __device__ float of_header[2];\n")
    lib = tarsia.load_inline("""
    #include "own.h"
    extern __constant__ float table[4];
    namespace ns { extern __device__ int counter; }
    extern __device__ int later;
    struct Unknown;
    extern __device__ Unknown of_unknown_size;
    __global__ void k(float* x) { x[0] = table[1] + ns::counter + later + of_header[1]; }
    int set(const float* w) { return cudaMemcpyToSymbol(table, w, 16) + cudaMemcpyToSymbol(of_header, w, 8); }
    __device__ int later = 7;
    """, device_compiler=compiler, include_dirs=[tmp_path], arch="sm_90")
    assert {(one.file.rpartition("/")[2], one.line) for one in lib.warnings if "is treated as a static definition" in one.message} == {
        ("own.h", 1), ("source", 3), ("source", 4)}
    assert sorted(lib.globals) == ["later", "ns::counter", "of_header", "table"]


def test_another_word_is_refused():
    with pytest.raises(tarsia.ArgumentValueError, match="undefined must be 'error' or 'load', got 'ignore'"):
        tarsia.load_inline("int f() { return 1; }", undefined="ignore")


