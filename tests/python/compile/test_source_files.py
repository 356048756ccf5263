"""tarsia.load of source files."""

import pickle
import subprocess
import sys
import warnings

import pytest

import tarsia


def write(folder, **texts):
    for name, text in texts.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_all_faces_have_one_list_of_suffixes():
    languages = dict(tarsia._tarsia.source_suffixes)
    assert languages == {".cu": "cuda", ".c": "c", **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".CPP", ".C"), "c++")}


@pytest.mark.parametrize("suffix", ["cc", "cpp", "cxx", "c++", "CPP", "C", "c", "cu"])
def test_a_source_is_compiled(tmp_path, suffix):
    path = tmp_path / f"ops.{suffix}"
    path.write_text("int twice(int x) { return 2 * x; }\n")
    lib = tarsia.load(path)
    assert lib.twice(4) == 8 and lib.twice.location == f"ops.{suffix}:1"
    assert tarsia.load(str(path), "my_name", std="c++17").name == "my_name"


def test_includes_lie_beside_the_file(tmp_path, monkeypatch):
    write(tmp_path, a__b__op_dot_cc='#include "near.h"\n#include "deep/far.h"\n#include "../../above.h"\nint f() { return NEAR + FAR + ABOVE; }\n',
          a__b__near_dot_h="#define NEAR 1\n", a__b__deep__far_dot_h='#include "farther.h"\n', a__b__deep__farther_dot_h="#define FAR 20\n",
          above_dot_h="#define ABOVE 300\n")
    assert tarsia.load(tmp_path / "a" / "b" / "op.cc").f() == 321
    monkeypatch.chdir(tmp_path / "a")
    assert tarsia.load("b/op.cc").f() == 321
    write(tmp_path, above_dot_h="#define ABOVE 400\n")
    assert tarsia.load("b/op.cc").f() == 421


def test_options_are_those_of_load_inline(tmp_path):
    write(tmp_path, op_dot_cc='#include "other.h"\nint f() { return OTHER + VALUE; }\nint g() { return 1; }\n',
          inc__other_dot_h="#define OTHER 5\n")
    lib = tarsia.load(tmp_path / "op.cc", include_dirs=[tmp_path / "inc"], defines={"VALUE": 2}, functions=["f"])
    assert lib.f() == 7 and lib.functions == ("f",)
    with pytest.raises(TypeError, match=r"load\(\) got an unexpected keyword argument 'inlcude_dirs'"):
        tarsia.load(tmp_path / "op.cc", inlcude_dirs=[])
    late = tarsia.load(tmp_path / "op.cc", wait=False, defines={"VALUE": 3}, include_dirs=[tmp_path / "inc"])
    assert late.f() == 8


def test_errors_and_warnings_name_the_real_file(tmp_path, monkeypatch):
    write(tmp_path, src__bad_dot_cc="int f() {\n  return nowhere;\n}\n", src__warns_dot_cc="int f() { }\n")
    path = tmp_path / "src" / "bad.cc"
    with pytest.raises(tarsia.CompileError) as caught:
        tarsia.load(path)
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.file, diagnostic.line, diagnostic.source_line) == (str(path), 2, "  return nowhere;")
    assert f"{path}:2:10: error: use of undeclared identifier 'nowhere'" in str(caught.value)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        lib = tarsia.load("src/warns.cc")
    assert [str(one.message) for one in shown] == ["src/warns.cc:1: non-void function does not return a value [-Wreturn-type]"]
    assert lib.warnings[0].file == "src/warns.cc"
    with pytest.raises(tarsia.LoadError, match="cannot read src/none.cc: No such file or directory"):
        tarsia.load("src/none.cc")


def test_a_built_library_takes_no_options(tmp_path):
    tarsia.compile("int f() { return 1; }", tmp_path / "built.so")
    with pytest.raises(TypeError, match="takes no options: it is no source"):
        tarsia.load(tmp_path / "built.so", std="c++17")


def test_a_source_file_can_be_pickled(tmp_path):
    write(tmp_path, op_dot_cc='#include "near.h"\nint f() { return NEAR; }\n', near_dot_h="#define NEAR 9\n")
    data = pickle.dumps(tarsia.load(tmp_path / "op.cc"))
    done = subprocess.run([sys.executable, "-c", f"import pickle; print(pickle.loads({data!r}).f())"], capture_output=True, text=True,
                          timeout=300, cwd="/")
    assert done.stdout == "9\n", done.stderr


def test_compile_takes_a_path(tmp_path):
    write(tmp_path, a__op_dot_cc='#include "../above.h"\nint f() { return ABOVE; }\n', above_dot_h="#define ABOVE 5\n")
    tarsia.compile(tmp_path / "a" / "op.cc", tmp_path / "op.so")
    assert tarsia.load(tmp_path / "op.so").f() == 5
    with pytest.raises(tarsia.LoadError, match="cannot read"):
        tarsia.compile(tmp_path / "absent.cc", tmp_path / "no.so")


def test_headers_of_libraries_say_what_to_do(tmp_path):
    for source, remedy, system in (("#include <Eigen/Dense>\nint f();", "/usr/include/eigen3", "own"),
                           ("#include <c10/cuda/impl/cuda_cmake_macros.h>\nint f();", "install one that was built for CUDA", "system")):
        with pytest.raises(tarsia.CompileError, match=remedy):
            tarsia.load_inline(source, include_dirs=[tmp_path], host_headers=system)
