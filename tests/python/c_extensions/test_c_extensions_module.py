"""tarsia.torch.create_extension: the module that the builder of early PyTorch gave, from C, C++ and CUDA files."""

import pathlib
import subprocess
import sys

import pytest

import tarsia

torch = pytest.importorskip("torch")
import tarsia.torch  # noqa: E402

SOURCES = pathlib.Path(__file__).parent / "sources"


def make(tmp_path, *names):
    for name in names:
        (tmp_path / name).write_text((SOURCES / name).read_text())
    return str(tmp_path / "build.py")


@pytest.fixture(scope="module")
def mix(tmp_path_factory):
    base = make(tmp_path_factory.mktemp("mix"), "mix.c", "mix.h")
    return tarsia.torch.create_extension("_ext.mix", headers="mix.h", sources=["mix.c"], relative_to=base,
                                         extra_compile_args=["-std=c99", "-fopenmp", "-O3"], define_macros=[("WITH_CUDA", None)])


def test_the_module_has_the_functions_of_the_headers(mix):
    a, out = torch.ones(2, 2), torch.FloatTensor()
    assert mix.mix_forward(a, a, 3.0, out) == 1
    assert torch.equal(out, torch.full((2, 2), 4.))
    assert mix.mix_forward(a, torch.ones(3), 3.0, out) == 0
    assert dir(mix) == ["mix_backward", "mix_forward"] and mix.__name__ == "_ext.mix"
    with pytest.raises(AttributeError, match="'_ext.mix' has no function 'mixed'; it has mix_forward, mix_backward"):
        mix.mixed


def test_tensors_of_functions_that_take_none_are_those_of_torch(tmp_path):
    (tmp_path / "make.c").write_text("#include <TH/TH.h>\n"
        "THFloatTensor *ones(long n) { THFloatTensor *t = THFloatTensor_newWithSize1d(n); THFloatTensor_fill(t, 1); return t; }\n"
        "THFloatTensor *none(void) { return NULL; }\nlong count(long n) { return n; }\n"
        "THFloatTensor *same(THFloatTensor *t) { return t; }\n")
    make = tarsia.torch.create_extension("make", sources=["make.c"], relative_to=str(tmp_path / "build.py"))
    t = make.ones(3)
    assert isinstance(t, torch.Tensor) and t.tolist() == [1, 1, 1] and t.add_(1).tolist() == [2, 2, 2]
    assert make.ones(n=0).shape == (0,) and make.none() is None and make.count(2) == 2 and make.same(t) is t
    assert make.ones.__name__ == "ones" and "THFloatTensor" in make.ones.signatures[0]
    assert isinstance(make.count, tarsia.Function) and isinstance(make.same, tarsia.Function)
    with pytest.raises(tarsia.ArgumentTypeError, match="ones"):
        make.ones()


def test_autograd_is_told_of_no_write(mix):
    a, out = torch.ones(2), torch.empty(2)
    before = a._version
    mix.mix_forward(a, a, 1, out)
    assert a._version == before


def test_a_pair_with_a_status_is_a_differentiable_function(mix):
    mixed = tarsia.torch.function(mix.mix_forward, mix.mix_backward, status=1, mutates=("out", "grad_a", "grad_b"),
                                  outputs=lambda a, b, weight: torch.empty_like(a))
    a, b = torch.rand(3, requires_grad=True), torch.rand(3, requires_grad=True)
    y = mixed(a, b, 2.0)
    assert torch.allclose(y, a + 2 * b)
    y.sum().backward()
    assert torch.equal(a.grad, torch.ones(3)) and torch.equal(b.grad, torch.full((3,), 2.))
    with pytest.raises(tarsia.OpError, match=r"mix_forward\(\) returned 0, not 1, which means success"):
        mixed(a, torch.ones(4), 2.0)
    with pytest.raises(tarsia.ArgumentTypeError, match="mix_forward may write to all its tensors.*mutates="):
        tarsia.torch.function(mix.mix_forward, mix.mix_backward, status=1, outputs=lambda a, b, weight: torch.empty_like(a))
    with pytest.raises(tarsia.ArgumentTypeError, match="status is the int"):
        tarsia.torch.function(mix.mix_forward, mix.mix_backward, status="ok")


def test_a_status_is_of_functions_that_return_an_int():
    lib = tarsia.load_inline("void f(const float* x, float* y, long n) {} void g(const float* dy, float* dx, long n) {}")
    with pytest.raises(tarsia.ArgumentTypeError, match="functions that return an int; f does not"):
        tarsia.torch.function(lib.f, lib.g, status=1, outputs=lambda x, n: torch.empty_like(x))


def shift_extension(tmp_path, **options):
    base = make(tmp_path, "shift.c", "shift.h", "shift_kernel.h", "shift_kernel.cu")
    return tarsia.torch.create_extension("shift", headers=["shift.h"], relative_to=base, with_cuda=True,
                                         include_dirs=[str(tmp_path)], **options)


def test_c_and_cuda_files_are_one_extension(tmp_path):
    shift = shift_extension(tmp_path, sources=["shift.c", "shift_kernel.cu"])
    assert dir(shift) == ["add_cuda", "largest_cuda", "shift_cuda"]
    with pytest.raises(tarsia.ArgumentValueError, match=r"shift_cuda: argument 'x' \(1 of 3\) must be on a GPU.*pass x.cuda\(\)"):
        shift.shift_cuda(torch.ones(3), 1.0, torch.ones(3))


@pytest.mark.parametrize("thing", ["shift_kernel.cu.o", "build/shift_kernel.so", "shift.o", "shift_kernel.cu", "kernels/x.cu.o"])
def test_the_sources_of_objects_are_found(tmp_path, thing):
    if thing == "shift.o":
        thing = str(tmp_path / "shift_kernel.o")
    if thing.startswith("kernels"):  # called otherwise than its source, which lies where it would
        (tmp_path / "kernels").mkdir()
        (tmp_path / "kernels/other.cu").write_text((SOURCES / "shift_kernel.cu").read_text())
    shift = shift_extension(tmp_path, sources=["shift.c"],
                            extra_objects=[thing, "/usr/local/cuda/lib64/libcudart_static.a"])
    assert "shift_cuda" in dir(shift)


def test_an_object_without_a_source_is_an_error_that_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(tarsia.ArgumentValueError, match=r"the source of gone/lost.cu.o is not there: lost.cu .*list the source itself"):
        shift_extension(tmp_path, sources=["shift.c"], extra_objects=["gone/lost.cu.o"])


@pytest.mark.parametrize("arguments, error, words", [
    ({"name": "not a module"}, tarsia.ArgumentValueError, "name is that of a module"),
    ({"sources": []}, tarsia.ArgumentValueError, "'mix' has no sources"),
    ({"sources": ["gone.c"]}, tarsia.LoadError, "cannot read .*gone.c"),
    ({"sources": ["mix.h"]}, tarsia.ArgumentValueError, "mix.h is no source"),
    ({"headers": 3}, tarsia.ArgumentTypeError, "headers is a list of paths"),
    ({"headers": ["empty.h"]}, tarsia.ArgumentValueError, "empty.h declares no function"),
    ({"headers": {"mix.h": "text"}}, tarsia.ArgumentTypeError, "headers is a list of paths"),
    ({"define_macros": ["X"]}, tarsia.ArgumentTypeError, "pairs of name and value"),
    ({"defines": ["X"]}, tarsia.ArgumentTypeError, "defines is a dict"),
    ({"define_macros": [("X", 1)], "defines": {"X": 2}}, tarsia.ArgumentValueError, "X the value 1, and it, or defines, also 2"),
    ({"functions": ["mix_forward"]}, tarsia.ArgumentValueError, "give either headers, .* or functions, not both"),
    ({"extra_compile_args": ["-Xcompiler"]}, tarsia.ArgumentValueError, "'-Xcompiler' lacks what stands behind it"),
    ({"extra_link_args": ["-Wl,-z,now"]}, tarsia.ArgumentValueError, "-lNAME and -LFOLDER"),
])
def test_bad_input_is_an_error_that_says_what_to_do(tmp_path, arguments, error, words):
    base = make(tmp_path, "mix.c", "mix.h")
    (tmp_path / "empty.h").write_text("/* int f(void); */\n")
    with pytest.raises(error, match=words):
        tarsia.torch.create_extension(**{"name": "mix", "headers": ["mix.h"], "sources": ["mix.c"], "relative_to": base, **arguments})


def test_a_function_that_no_source_defines_is_an_error(tmp_path):
    base = make(tmp_path, "mix.c")
    (tmp_path / "more.h").write_text("int mix_sideways(THFloatTensor *a);\n")
    with pytest.raises(tarsia.Error, match="mix_sideways"):
        tarsia.torch.create_extension("mix", headers="more.h", sources=["mix.c"], relative_to=base)


def test_old_c_without_prototypes_compiles(tmp_path):
    (tmp_path / "old.c").write_text("#include <TH/TH.h>\nint twice(int x) { return helper(x); }\nint helper(int x) { return 2 * x; }\n")
    (tmp_path / "old.h").write_text("int twice(int x);\n")
    old = tarsia.torch.create_extension("old", "old.h", ["old.c"], relative_to=str(tmp_path / "build.py"))
    assert old.twice(4) == 8


QUERY = "int q(void) {\n#ifdef Q\n  return Q;\n#else\n  return -1;\n#endif\n}\n"


@pytest.mark.parametrize("flags", [
    [], ["-Xcompiler", "-fPIC"], ["-Xcompiler", "-fPIC,-std=c99"], ["-Xcompiler", "-std=c99"], ["-std=c99"], ["-std=gnu11", "-O3"],
    ["-I", "inc"], ["-Iinc"], ["-fPIC", "-shared"], ["-march=native"], ["-arch=sm_35"], ["-arch", "sm_35"], ["-qopenmp"],
    {"nvcc": ["-gencode", "arch=compute_35,code=sm_35"], "cxx": ["-std=gnu99"]},
], ids=str)
def test_flags_of_old_build_scripts(tmp_path, flags):
    (tmp_path / "q.c").write_text(('#include "there.h"\n' if "-I" in str(flags) else "") + QUERY)
    (tmp_path / "inc").mkdir()
    (tmp_path / "inc/there.h").write_text("\n")
    flags = {"more": ["-DQ=5"], **flags} if isinstance(flags, dict) else ["-DQ=5", *flags]
    made = tarsia.torch.create_extension("q", sources=["q.c"], relative_to=str(tmp_path / "build.py"), extra_compile_args=flags)
    assert made.q() == 5


def test_options_of_load_inline_add_to_those_of_the_builder(tmp_path):
    (tmp_path / "q.c").write_text(QUERY + "int both(void) { return A + B + C; }\n")
    made = tarsia.torch.create_extension("q", sources=["q.c"], relative_to=str(tmp_path / "build.py"), define_macros=[("A", 1)],
                                         defines={"B": 20}, extra_compile_args=["-DC=300"], cflags=["-DQ=7"])
    assert made.q() == 7 and made.both() == 321
    (tmp_path / "two.c").write_text("int one(void) { return 1; }\nint two(void) { return 2; }\n")
    made = tarsia.torch.create_extension("two", sources=["two.c"], relative_to=str(tmp_path / "build.py"), functions=["two"])
    assert dir(made) == ["two"] and made.two() == 2


def test_one_text_is_a_list_of_one_and_none_of_none(tmp_path):
    (tmp_path / "q.c").write_text(QUERY)
    nothing = dict.fromkeys(("include_dirs", "define_macros", "extra_compile_args", "extra_link_args", "library_dirs"))
    made = tarsia.torch.create_extension("q", sources="q.c", relative_to=str(tmp_path / "build.py"), libraries="dl",
                                         undef_macros="Q", **nothing)
    assert made.q() == -1


@pytest.mark.parametrize("name", ["build", "compile", "_library"])
def test_a_function_with_the_name_of_a_method_is_an_error(tmp_path, name):
    (tmp_path / "b.c").write_text(f"int {name}(void) {{ return 42; }}\n")
    (tmp_path / "b.h").write_text(f"int {name}(void);\n")
    for headers in ([], ["b.h"]):
        with pytest.raises(tarsia.ArgumentValueError, match=f"'b': its function '{name}' has the name of .*rename it"):
            tarsia.torch.create_extension("b", headers=headers, sources=["b.c"], relative_to=str(tmp_path / "build.py"))


HEADER = '''
#pragma once
#ifdef __cplusplus
extern "C" {
#endif
typedef int (*callback)(int);
typedef struct { int (*f)(int); } holder;
static inline int two(int a) { if (a) { return helper(a); } return other(a); }
int a(void);
int cb(int (*f)(int), int x);
int hidden(int x) __attribute__((visibility("default")));
/* int gone(int x); */
#ifdef __cplusplus
}
#endif
'''


def test_the_declarations_of_a_header_are_those_of_the_module(tmp_path):
    (tmp_path / "d.h").write_text(HEADER)
    (tmp_path / "d.c").write_text("int a(void) { return 1; }\nint hidden(int x) { return x; }\nint cb(int (*f)(int), int x) { return f(x); }\n")
    with pytest.raises(tarsia.Error, match="cb"):  # nothing is left out in silence
        tarsia.torch.create_extension("d", headers="d.h", sources=["d.c"], relative_to=str(tmp_path / "build.py"))
    (tmp_path / "d.h").write_text(HEADER.replace("int cb(int (*f)(int), int x);", ""))
    made = tarsia.torch.create_extension("d", headers="d.h", sources=["d.c"], relative_to=str(tmp_path / "build.py"))
    assert dir(made) == ["a", "hidden"]


def test_a_header_of_thc_in_a_comment_is_none(tmp_path):
    (tmp_path / "c.c").write_text("/*\n#include <THC/THC.h>\n*/\nint cudaMode(void) {\n"
                                  "#ifdef __CUDACC__\n  return 1;\n#endif\n  return 0;\n}\n")
    made = tarsia.torch.create_extension("c", sources=["c.c"], relative_to=str(tmp_path / "build.py"))
    assert made.cudaMode() == 0


def test_short_names_of_the_headers_are_found(tmp_path):
    (tmp_path / "short.c").write_text('#include "TH.h"\nlong n(THFloatTensor *t) { return THFloatTensor_nElement(t); }\n')
    short = tarsia.torch.create_extension("short", sources=["short.c"], relative_to=str(tmp_path / "build.py"))
    assert short.n(torch.ones(7)) == 7


def test_build_writes_a_package_that_another_process_imports(tmp_path):
    base = make(tmp_path, "mix.c", "mix.h")
    tarsia.torch.create_extension("_ext.mix", headers=["mix.h"], sources=["mix.c"], relative_to=base).build()
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    code = ("import torch\nfrom _ext import mix\nfrom _ext.mix import mix_forward\n"
            "out = torch.FloatTensor()\nprint(mix_forward(torch.ones(2), torch.ones(2), 2.0, out), out.tolist(), mix.__all__)")
    ran = subprocess.run([sys.executable, "-c", code], cwd=moved, capture_output=True, text=True)
    assert ran.stdout.strip() == "1 [3.0, 3.0] ['mix_forward', 'mix_backward']", ran.stderr


def test_a_warning_stands_at_its_place_in_the_file(tmp_path):
    (tmp_path / "src").mkdir()
    source = tmp_path / "src" / "loud.c"
    source.write_text("#include <TH/TH.h>\nint loud(THFloatTensor *x)\n{\n  THFloatTensor_data(x)[0] = 1;\n}\n")
    with pytest.warns(tarsia.CompileWarning, match="src/loud.c:5: non-void function does not return a value") as caught:
        tarsia.torch.create_extension("loud", sources=["src/loud.c"], relative_to=tmp_path / "build.py")
    (one,) = caught
    assert (one.filename, one.lineno) == (str(source), 5)
