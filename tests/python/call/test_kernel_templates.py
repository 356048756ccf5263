"""Templates of kernels, and their PTX and machine code. No GPU is needed: tests/gpu/test_kernel_launches.py launches."""

import shutil

import numpy as np
import pytest
from kernel_support import OnGpu, passes, refuses

import tarsia

SOURCE = r"""
#include <cuda_fp16.h>
namespace ns {
template <class T, int N = 128> __global__ void axpy(T a, const T* x, T* y, int n) {
  int i = blockIdx.x * N + threadIdx.x;
  if (i < n) y[i] = T(float(y[i]) + float(a) * float(x[i]));
}
}
struct Twice { template <class T> __device__ T operator()(T x) const { return x + x; } };
struct Negated { template <class T> __device__ T operator()(T x) const { return -x; } };
template <class F, class T> __global__ void map(F f, T* x) { x[threadIdx.x] = f(x[threadIdx.x]); }
template <int B, bool flag> __global__ void values(int* x) { x[B] = flag; }
template <class... T> __global__ void pack(int* n) { *n = sizeof...(T); }
namespace { template <class T> __global__ void hidden(T* x) { *x = T(1); } }
static int side_effects = 0;
struct AtLoad { AtLoad() { ++side_effects; } } at_load;
int loads() { return side_effects; }
__constant__ float factors[4];
__device__ int counter;
static __device__ const float table[] = {1, 2, 4, 8};
__device__ float helper(float x) { return x * factors[2]; }
template <class T> __global__ void uses_constant(T* x) { *x = T(helper(float(*x))); }
template <class T> __global__ void uses_counter(T* x) { atomicAdd(&counter, 1); }
template <class T, int N = 2 * 2, class U = T> __global__ void counts(T* x) { atomicAdd(&counter, N); }
template __global__ void counts<float>(float*);
template __global__ void counts<unsigned>(unsigned*);
template <class T> __global__ void uses_table(T* x, int i) { *x = table[i]; }
__global__ void plain(float* x) { *x = counter; }
template <class T> __global__ void twice_named(T* x) { *x = 2; }
template <class T> __global__ void twice_named(T* x, int n) { *x = n; }
template __global__ void ns::axpy<double, 32>(double, const double*, double*, int);
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(SOURCE, "templates", arch="sm_90")


def test_templates_are_listed(lib):
    assert set(lib.templates) == {"ns::axpy", "map", "values", "pack", "hidden", "uses_constant", "uses_counter", "uses_table",
                                  "counts", "twice_named"}
    assert set(lib.kernels) == {"plain", "ns::axpy<double, 32>", "counts<float, 4, float>", "counts<unsigned int, 4, unsigned int>"}
    assert lib.axpy.signatures == ("template <class T, int N = 128> void ns::axpy(T a, const T *x, T *y, int n)",)
    assert lib.axpy.location == "source:4" and lib.axpy.__name__ == "axpy" and lib.axpy.__qualname__ == "ns::axpy"
    assert "at source:4" in lib.axpy.__doc__
    assert "ns::axpy" in lib and "axpy" in dir(lib)


@pytest.mark.parametrize("arguments, name", [
    (("float", 128), "ns::axpy<float, 128>"), (("float",), "ns::axpy<float, 128>"), ((np.float32, np.int64(64)), "ns::axpy<float, 64>"),
    ((np.dtype("float64"), 32), "ns::axpy<double, 32>"), (("float16",), "ns::axpy<__half, 128>"), (("__half",), "ns::axpy<__half, 128>"),
])
def test_a_subscript_names_an_instantiation(lib, arguments, name):
    kernel = lib.axpy[arguments]
    assert isinstance(kernel, tarsia.Kernel)
    assert kernel is lib["ns::axpy"][arguments]
    assert kernel.__qualname__ == name and lib.axpy.instances[name] is kernel
    element = {"float": "<f4", "double": "<f8", "__half": "<f2"}[name[9:-1].split(",")[0]]
    passes(kernel, 2.0, OnGpu(element), OnGpu(element), 5)
    refuses(TypeError, "argument 'x' .* must be a float", kernel[1, 1], 2.0, OnGpu("<i4"), OnGpu(element), 5)


def test_dtypes_of_torch(lib):
    torch = pytest.importorskip("torch")
    assert lib.axpy[torch.float64, 32] is lib.axpy["double", 32]
    assert lib.axpy[torch.float16].signatures[0].count("__half") == 4


def test_the_librarys_own_instantiations_are_taken(lib):
    assert lib.counts["float"].signatures == ("void counts<float, 4, float>(float *x)",)  # with the library's `counter`
    assert lib.counts["unsigned"].signatures == ("void counts<unsigned int, 4, unsigned int>(unsigned int *x)",)
    assert lib.axpy["double", 32]._symbol == lib["ns::axpy<double, 32>"]._symbol
    before = tarsia.stats()["workers_started"], tarsia.stats()["disk"]
    lib.axpy["double", 32]
    assert before == (tarsia.stats()["workers_started"], tarsia.stats()["disk"])


def test_arguments_may_be_types_of_the_source(lib):
    kernel = lib.map["Twice", "float"]
    assert kernel.signatures == ("void map<Twice, float>(Twice f, float *x)",)
    passes(kernel, b"\0", OnGpu())
    assert lib.map["Negated", "int"].attributes.registers > 0
    assert lib.values[3, True].__qualname__ == "values<3, true>"
    assert lib.pack["int", "float", "double"].attributes.registers > 0
    passes(lib.hidden["float"], OnGpu())


def test_the_hosts_code_runs_once(lib):
    lib.axpy["float", 7]
    assert lib.loads() == 1


def test_launch_deduces_from_tensors(lib):
    def launched(*args, **kwargs):
        with pytest.raises(ValueError, match="has no blocks") as caught:
            lib.axpy.launch(*args, grid=0, block=1, **kwargs)
        return str(caught.value).split(": the grid")[0]

    assert launched(2.0, OnGpu("<f4"), OnGpu("<f4"), 5) == "kernel ns::axpy<float, 128>"
    assert launched(2, OnGpu("<f8"), y=OnGpu("<f8"), n=5) == "kernel ns::axpy<double, 128>"
    assert launched(0.5, OnGpu("<f2"), None, 5) == "kernel ns::axpy<__half, 128>"
    assert launched(np.float64(2), None, None, 5) == "kernel ns::axpy<double, 128>"
    for kwargs in ({}, {"a": 2.0}):
        with pytest.raises(TypeError, match="argument"):
            lib.axpy.launch(x=OnGpu("<f4"), grid=1, block=1, **kwargs)
    with pytest.raises(TypeError, match="T is float by argument 'x' and double by argument 'y'"):
        lib.axpy.launch(2.0, OnGpu("<f4"), OnGpu("<f8"), 5, grid=1, block=1)
    with pytest.raises(TypeError, match="kernel template values: B does not follow from the tensors"):
        lib.values.launch(OnGpu("<i4"), grid=1, block=1)
    with pytest.raises(ValueError, match="kernel map<Twice, int>: .* has no blocks"):
        lib.map["Twice"].launch(b"\0", OnGpu("<i4"), grid=0, block=1)


def test_templates_of_one_name_need_a_subscript(lib):
    assert len(lib.twice_named.signatures) == 2
    with pytest.raises(TypeError, match="is several templates"):
        lib.twice_named.launch(OnGpu(), grid=1, block=1)


@pytest.mark.parametrize("arguments, kind, message", [
    ((4,), TypeError, "kernel template ns::axpy: template argument 'T' must be a type, .* got 4"),
    ((float,), TypeError, "template argument 'T' must be a type"),
    (("float", "float", 3), TypeError, "takes 2 template arguments, and 3 is one too many"),
    (("float", 1.5), TypeError, "template argument 'N' must be an int, a bool or a str"),
    (("floot",), tarsia.CompileError, "ns::axpy<floot>: .*floot"),
    (("float", "nothing"), tarsia.CompileError, "ns::axpy<float, nothing>: .*nothing"),
    (("int**",), tarsia.CompileError, "source:6"),
])
def test_wrong_arguments(lib, arguments, kind, message):
    with pytest.raises(kind, match=message):
        lib.axpy[arguments]


def test_a_template_without_its_arguments(lib):
    with pytest.raises(TypeError, match=r"kernel template ns::axpy is called with its arguments, a grid and a block: axpy\[...\]"):
        lib.axpy(2.0)
    partial = lib.map["Twice"]
    assert "<Twice, ...>" in repr(partial)
    assert partial["float"] is lib.map["Twice", "float"]


# ---- variables ----


@pytest.mark.parametrize("name, variable", [("uses_constant", "factors"), ("uses_counter", "counter")])
def test_variables_of_the_library_cannot_be_had_twice(lib, name, variable):
    with pytest.raises(tarsia.CompileError, match=f"the variable '{variable}' is used by {name}<float>") as caught:
        lib[name]["float"]
    assert f"template __global__ void {name}<float>(...);" in str(caught.value)
    assert caught.value.diagnostics[0].line > 0


def test_constants_may_be(lib):
    assert lib.uses_table["float"].attributes.registers > 0


# ---- where they come from ----


def test_a_source_of_templates_alone():
    lib = tarsia.load_inline("template <class T> __global__ void only(T* x) { *x = 1; }", arch="sm_90")
    assert lib.templates == ("only",) and lib.kernels == ()
    passes(lib.only["int"], OnGpu("<i4"))


def test_several_files(tmp_path):
    lib = tarsia.load_inline({"a.cu": "#include \"b.h\"\n__global__ void first(float* x) { *x = SHIFT; }",
                              "b.h": "#define SHIFT 3\ntemplate <class T> __global__ void inside(T* x) { *x = SHIFT; }",
                              "c.cu": "#include \"b.h\"\ntemplate <int N> __global__ void second(int* x) { *x = N + SHIFT; }"},
                             arch="sm_90")
    assert set(lib.templates) == {"inside", "second"}
    passes(lib.second[5], OnGpu("<i4"))
    passes(lib.inside["double"], OnGpu("<f8"))


def test_a_library_built_ahead_of_time_says_what_it_has(lib, tmp_path):
    lib.export(tmp_path / "templates.so")
    again = tarsia.load(tmp_path / "templates.so")
    passes(again.axpy["double", 32], 2.0, OnGpu("<f8"), OnGpu("<f8"), 5)
    with pytest.raises(tarsia.Unsupported, match=r"built ahead of time, with ns::axpy<double, 32>; name ns::axpy<float>"):
        again.axpy["float"]


def test_a_second_process_compiles_nothing(tmp_path):
    import subprocess
    import sys

    program = (f"import tarsia\nlib = tarsia.load_inline({SOURCE!r}, arch='sm_90')\nlib.axpy['float', 99]\nlib.plain.ptx\n"
               "print(tarsia.stats()['workers_started'])")
    import os

    environment = {**os.environ, "TARSIA_CACHE_DIR": str(tmp_path)}
    outs = [subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True).stdout
            for _ in range(2)]
    assert outs[0].strip() != "0" and outs[1].strip() == "0"


# ---- PTX and machine code ----


def test_ptx_is_made_when_it_is_asked_for(lib):
    assert ".entry _Z5plainPf" in lib.plain.ptx
    assert "ld.global" in lib["ns::axpy<double, 32>"].ptx
    assert ".entry" in lib.axpy["float", 128].ptx


def test_ptx_that_was_kept():
    lib = tarsia.load_inline("__global__ void kept(float* x) { *x = 1; }", arch="sm_90", ptx=True)
    assert ".target sm_90" in lib.kept.ptx and ".entry _Z4keptPf" in lib.kept.ptx


def test_templates_of_a_library_with_chosen_functions():
    lib = tarsia.load_inline("template <class T> __global__ void k(T* x) { *x = 1; }\nint f() { return 1; }\nint g() { return 2; }",
                             functions=["f"], arch="sm_90")
    assert lib.functions == ("f",) and lib.k["float"].signatures == ("void k<float>(float *x)",)


def test_ptx_of_a_library_built_ahead_of_time(tmp_path):
    lib = tarsia.load_inline("__global__ void ahead(float* x) { *x = 1; }", arch="sm_90")
    lib.export(tmp_path / "ahead.so")
    with pytest.raises(tarsia.Unsupported, match="kernel ahead has no PTX.*compile it with ptx=True"):
        tarsia.load(tmp_path / "ahead.so").ahead.ptx


def test_machine_code_is_shown_by_nvdisasm(lib):
    from tarsia._kernels import _nvdisasm

    try:
        _nvdisasm()
    except tarsia.Unsupported as error:
        assert "pip install nvidia-cuda-nvdisasm" in str(error)
        pytest.skip("there is no nvdisasm")
    text = lib.plain.sass
    assert "_Z5plainPf" in text and "EXIT" in text and "axpy" not in text


def test_without_nvdisasm_the_error_tells_the_remedy(lib, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *args, **kwargs: None)
    with pytest.raises(tarsia.Unsupported, match="pip install nvidia-cuda-nvdisasm"):
        lib.plain.sass
