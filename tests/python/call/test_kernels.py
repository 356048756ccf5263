"""Kernels called directly: what they tell, and what their arguments are checked against. No GPU is needed:
tests/gpu/test_kernel_launches.py launches them."""

import ctypes
import inspect
import os
import re
import subprocess
import sys

import numpy as np
import places
import pytest
from kernel_support import OnGpu, passes, refuses

import tarsia

SOURCE = r"""
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Particle { float x, y; int id; double mass; };
struct Owner { int* p; Owner(const Owner&); ~Owner(); };
enum Mode : short { plain = 0, fast = 3 };

namespace ns {
// Doubles.
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2; }
}
__global__ void saxpy(int n, float a, const float* x, float* y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
__global__ void numbers(bool b, signed char c, unsigned short s, long long l, unsigned long long u, double d, Mode mode,
                        __half h, __nv_bfloat16 f) {}
__global__ void structs(Particle p, float4 v, Owner* unused, cudaTextureObject_t texture) {}
__global__ void owner(Owner o) {}
__global__ void nothing() {}
__global__ void over(float* x) {}
__global__ void over(double* x) {}
namespace { __global__ void hidden(int* x) { *x = 1; } }
__global__ void __launch_bounds__(128) bounded(float* x) {
  __shared__ float tile[250];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[127 - threadIdx.x];
}
template <class T, int N> __global__ void scale(T* x) { x[N] *= T(2); }
void use(float* x, cudaStream_t stream) { scale<float, 3><<<1, 1, 0, stream>>>(x); }

__constant__ float table[4][8];
namespace ns { __device__ unsigned long long counter; }
__device__ float3 points[5];
__device__ Particle particles[2];
__managed__ int shared_by_all = 7;
__global__ void reads(float* y) { y[0] = table[1][2] + ns::counter + points[1].x + particles[0].x + shared_by_all; }
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(SOURCE, "kernels", arch="sm_90")


# ---- finding them, and what they tell ----


def test_kernels_are_attributes_of_the_library(lib):
    assert isinstance(lib.saxpy, tarsia.Kernel)
    assert lib.saxpy is lib.saxpy
    assert lib["ns::twice"].__qualname__ == lib.twice.__qualname__ == "ns::twice"
    assert lib.twice.__name__ == "twice" and lib.twice.__module__ == "kernels"
    assert lib["scale<float, 3>"].__qualname__ == "scale<float, 3>"
    assert "saxpy" in lib and "ns::twice" in lib and "nowhere" not in lib
    assert set(lib) >= {"saxpy", "ns::twice", "use"}
    assert lib.hidden.signatures == ("void hidden(int *x)",)
    with pytest.raises(AttributeError, match="no function or kernel 'saxpi'; did you mean 'saxpy'"):
        lib.saxpi


def test_a_kernel_tells_its_signature(lib):
    kernel = lib.saxpy
    assert kernel.signatures == ("void saxpy(int n, float a, const float *x, float *y)",)
    assert str(inspect.signature(kernel)) == "(n, a, x, y)"
    assert "void saxpy(int n, float a, const float *x, float *y) at source:13" in kernel.__doc__
    assert kernel.location == "source:13"
    assert repr(kernel) == "<tarsia.Kernel void saxpy(int n, float a, const float *x, float *y)>"
    assert "saxpy" in dir(lib) and "twice" in dir(lib)


def test_overloads_are_one_kernel(lib):
    assert lib.kernels.count("over") == 1
    assert lib.over.signatures == ("void over(float *x)", "void over(double *x)")
    passes(lib.over, OnGpu("<f8"))
    passes(lib.over, OnGpu("<f4"))
    refuses(TypeError, "kernel over: no overload fits", lib.over[1, 1], OnGpu("<i4"))
    assert [one.signatures for one in lib.over.overloads] == [("void over(float *x)",), ("void over(double *x)",)]
    with pytest.raises(TypeError, match="2 overloads"):
        lib.over.attributes


def test_a_kernel_outlives_its_library():
    kernel = tarsia.load_inline("__global__ void alone(float* x) {}", arch="sm_90").alone
    assert kernel.signatures == ("void alone(float *x)",)
    passes(kernel, OnGpu())
    refuses(TypeError, "argument 'x'", kernel[1, 1], 1.0)


def test_an_exported_library_has_its_kernels(lib, tmp_path):
    lib.export(tmp_path / "kernels.so")
    again = tarsia.load(tmp_path / "kernels.so")
    assert again.kernels == lib.kernels
    assert again.saxpy.signatures == lib.saxpy.signatures
    assert again.bounded.attributes == lib.bounded.attributes


# ---- grids ----


def test_what_a_launch_holds(lib):
    launch = lib.saxpy[(4, 2), 256, 1024]
    assert launch.grid == (4, 2, 1) and launch.block == (256, 1, 1) and launch.shared_bytes == 1024
    assert launch.kernel.__name__ == "saxpy"
    assert repr(launch) == "<tarsia.KernelLaunch saxpy[(4, 2, 1), (256, 1, 1), 1024]>"
    assert lib.saxpy[np.int64(3), [8, 8, 8]].block == (8, 8, 8)


@pytest.mark.parametrize("key, kind, message", [
    ((0, 1), ValueError, r"kernel nothing: the grid \(0, 1, 1\) has no blocks along x"),
    (((4, 0), 1), ValueError, r"the grid \(4, 0, 1\) has no blocks along y"),
    ((2**31, 1), ValueError, "has more than 2147483647 blocks along x"),
    (((1, 65536), 1), ValueError, "has more than 65535 blocks along y"),
    ((1, 0), ValueError, r"the block \(0, 1, 1\) has no threads along x"),
    ((1, 1025), ValueError, "has more than 1024 threads along x"),
    ((1, (1, 1, 65)), ValueError, "has more than 64 threads along z"),
    ((1, (32, 33)), ValueError, r"the block \(32, 33, 1\) has 1056 threads, more than 1024"),
    ((-1, 1), ValueError, "grid must be from 0 to 4294967295, got -1"),
    ((2**40, 1), ValueError, "got 1099511627776"),
    (((1, 1, 1, 1), 1), ValueError, "one to three extents"),
    (((), 1), ValueError, "one to three extents"),
    ((1.5, 1), TypeError, "the grid must be an int or a tuple of up to three, got float 1.5"),
    (("1", 1), TypeError, "the grid must be an int"),
    ((1, (1, 2.0)), TypeError, "block must be an int, got float 2.0"),
    ((True, 1), TypeError, "grid must be an int"),
    ((1, 1, -5), ValueError, "shared memory in bytes must be from 0"),
    ((1, 1, "x"), TypeError, "shared memory in bytes must be an int"),
    ((1, 1, 0, "x"), TypeError, "the stream must be an int, a torch.cuda.Stream"),
])
def test_grids_that_are_none(lib, key, kind, message):
    refuses(kind, message, lambda: lib.nothing[key]())


def test_a_kernel_without_a_grid(lib):
    refuses(TypeError, r"called with a grid and a block: k\[grid, block\]", lib.nothing)
    refuses(TypeError, r"write k\[grid, block\]", lambda: lib.nothing[1])
    refuses(TypeError, r"write k\[grid, block\]", lambda: lib.nothing[1, 1, 0, None, 5])
    refuses(TypeError, "missing grid=", lib.nothing.launch, block=1)
    refuses(TypeError, "missing block=", lib.nothing.launch, grid=1)
    refuses(ValueError, "is no multiple of the cluster", lib.nothing.launch, grid=3, block=1, cluster=2)
    refuses(ValueError, "cluster must have 1 or more", lib.nothing.launch, grid=3, block=1, cluster=0)
    refuses(ValueError, "has no blocks", lib.nothing.launch, grid=(0, 2), block=(8, 8), shared=16, stream=None,
            cluster=(2, 1), cooperative=True)


# ---- arguments ----


def test_right_arguments_reach_cuda(lib):
    passes(lib.saxpy, 256, 2.0, OnGpu(), OnGpu())
    passes(lib.saxpy, np.int32(256), np.float32(2), OnGpu(read_only=True), OnGpu())
    passes(lib.saxpy, 256, 2, OnGpu(), OnGpu())
    passes(lib.saxpy, 256, 2.0, y=OnGpu(), x=OnGpu())
    refuses(ValueError, "has no blocks", lib.saxpy.launch, 256, 2.0, OnGpu(), y=OnGpu(), grid=0, block=256)
    passes(lib.saxpy, 256, 2.0, None, None)
    passes(lib.saxpy, 256, 2.0, ctypes.c_void_p(0x7F0000000000), ctypes.c_void_p(None))
    passes(lib.numbers, True, -128, 65535, -2**63, 2**64 - 1, 1, 3, 0.5, 0.25)


def test_without_a_gpu_the_error_says_so():
    code = """if True:
        import tarsia
        lib = tarsia.load_inline("__global__ void nothing() {}", arch="sm_90")
        try:
            lib.nothing[1, 1]()
        except tarsia.CudaError as error:
            print(error)
    """
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": "-1"}  # the GPUs of a machine that has some
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=hidden)
    assert re.search("no CUDA driver|no CUDA-capable device|no GPU", done.stdout), done.stdout + done.stderr


@pytest.mark.parametrize("args, kind, message", [
    ((256, 2.0, OnGpu("<f8"), OnGpu()), TypeError, r"kernel saxpy: argument 'x' \(3 of 4\) must be a float32 tensor"),
    ((256, 2.0, OnGpu(), OnGpu("<i4")), TypeError, "argument 'y' .* must be a float32 tensor or None, got .* of int32"),
    ((256, 2.0, OnGpu()), TypeError, r"argument 'y' \(4 of 4\) is missing"),
    ((256, 2.0, OnGpu(), OnGpu(), 1), TypeError, "takes 4 arguments, got 5"),
    ((2.0, 2.0, OnGpu(), OnGpu()), TypeError, r"argument 'n' .* must be an int, got float 2.0; pass int\(n\)"),
    ((2**31, 2.0, OnGpu(), OnGpu()), ValueError, "argument 'n' .* from -2147483648 to 2147483647"),
    ((256, np.int32(2), OnGpu(), OnGpu()), TypeError, r"argument 'a' .* must be a float, got numpy.int32"),
    ((256, np.bool_(True), OnGpu(), OnGpu()), TypeError, r"argument 'a' .* must be a float"),
    ((256, np.float32([2]), OnGpu(), OnGpu()), TypeError, r"argument 'a' .* pass a.item\(\)"),
    ((256, 2**24 + 1, OnGpu(), OnGpu()), ValueError, r"argument 'a' .* float32 can hold exactly"),
    ((256, 2**200, OnGpu(), OnGpu()), ValueError, "argument 'a' .* within the range of float32"),
    ((256, 1e39, OnGpu(), OnGpu()), ValueError, "argument 'a' .* within the range of float32"),
    ((256, "2", OnGpu(), OnGpu()), TypeError, "argument 'a' .* must be a float, got str"),
    ((256, 2.0, np.zeros(256, np.float32), OnGpu()), ValueError, "argument 'x' .* must be on a GPU, where the kernel runs"),
    ((256, 2.0, OnGpu(), OnGpu(read_only=True)), ValueError, "argument 'y' .* must be writable, since the kernel writes"),
    ((256, 2.0, OnGpu(shape=(8, 8), strides=(64, 4)), OnGpu()), ValueError, "argument 'x' .* must be contiguous"),
    ((256, 2.0, OnGpu(address=0x7F0000000001), OnGpu()), ValueError, "argument 'x' .* must be aligned"),
    ((256, 2.0, 0x7F0000000000, OnGpu()), TypeError, r"argument 'x' .* ctypes.c_void_p\(x\) for a bare address"),
    ((256, 2.0, [1.0], OnGpu()), TypeError, "argument 'x' .* must be a float32 tensor"),
])
def test_wrong_arguments_name_the_kernel_and_the_parameter(lib, args, kind, message):
    refuses(kind, message, lib.saxpy[1, 256], *args)


def test_names_of_arguments_are_checked(lib):
    refuses(TypeError, r"kernel saxpy: has no parameter 'z'; its parameters are \(n, a, x, y\)", lib.saxpy[1, 1], 1, 2.0, z=1)
    refuses(TypeError, "argument 'n' .* is given twice", lib.saxpy[1, 1], 1, n=1)


@pytest.mark.parametrize("index, value, message", [
    (0, 2, "a bool, 0 or 1"), (1, 128, "from -128 to 127"), (2, -1, "from 0 to 65535"), (3, 2**63, "int64"),
    (4, -1, "uint64"), (6, 2**15, "from -32768 to 32767"), (7, 65520.0, "range of float16"), (7, 2049, "float16 can hold"),
    (8, 257, "bfloat16 can hold exactly"), (5, 2**53 + 1, "float64 can hold exactly"),
])
def test_ranges_of_numbers(lib, index, value, message):
    args = [True, 0, 0, 0, 0, 0.0, 0, 0.0, 0.0]
    args[index] = value
    refuses(ValueError, message, lib.numbers[1, 1], *args)


PARTICLE = np.dtype([("x", "f4"), ("y", "f4"), ("id", "i4"), ("mass", "f8")], align=True)


class CParticle(ctypes.Structure):
    _fields_ = [("x", ctypes.c_float), ("y", ctypes.c_float), ("id", ctypes.c_int), ("mass", ctypes.c_double)]


@pytest.mark.parametrize("particle", [
    bytes(24), bytearray(24), np.zeros((), PARTICLE), np.zeros(1, PARTICLE), np.zeros(3, PARTICLE)[1], CParticle(1, 2, 3, 4),
    memoryview(bytes(24)),
], ids=lambda one: type(one).__name__)
def test_structs_come_as_bytes_or_records(lib, particle):
    passes(lib.structs, particle, (1, 2.0, 3, 4), None, 17)


@pytest.mark.parametrize("args, kind, message", [
    ((bytes(23), bytes(16), None, 0), ValueError, "argument 'p' .* must have the 24 bytes of its C\\+\\+ type, got bytes"),
    ((np.zeros((), np.dtype([("x", "f4"), ("y", "f4"), ("id", "i4"), ("mass", "f8")])), bytes(16), None, 0), ValueError, "align=True"),
    (("x" * 24, bytes(16), None, 0), TypeError, "argument 'p' .* must be a struct of 24 bytes"),
    ((None, bytes(16), None, 0), TypeError, "argument 'p' .* must be a struct of 24 bytes"),
    ((bytes(24), (1, 2, 3), None, 0), ValueError, "argument 'v' .* must have the 16 bytes"),
    ((bytes(24), (1, 2, 3, "4"), None, 0), TypeError, "argument 'v' .* or a tuple of 4 numbers"),
    ((bytes(24), bytes(16), None, -1), ValueError, "argument 'texture' .*uint64"),
])
def test_wrong_structs(lib, args, kind, message):
    refuses(kind, message, lib.structs[1, 1], *args)


def test_a_class_that_cannot_be_copied_is_refused(lib):
    refuses(TypeError, "argument 'o' .* copy constructor or a destructor of its own", lib.owner[1, 1], bytes(8))


# ---- what they need ----


def test_attributes_are_read_from_the_code(lib):
    attributes = lib.bounded.attributes
    assert attributes.shared == 1000 and attributes.local == 0 and attributes.max_threads == 128
    assert 4 <= attributes.registers <= 64
    assert attributes.binary_version >= 90
    assert lib.nothing.attributes.shared == 0 and lib.nothing.attributes.max_threads == 1024
    assert attributes._fields == ("registers", "shared", "local", "const", "max_threads", "ptx_version", "binary_version")


def test_local_memory_is_told():
    lib = tarsia.load_inline("""
__global__ void spills(int* x, int n) {
  int all[300];
  for (int i = 0; i < 300; ++i) all[i] = x[i];
  for (int i = 0; i < n; ++i) all[x[i] % 300] += all[i % 300];
  for (int i = 0; i < 300; ++i) x[i] = all[i];
}""", arch="sm_90")
    assert lib.spills.attributes.local >= 1200


# ---- variables ----


def test_device_variables_are_listed(lib):
    assert set(lib.globals) == {"table", "ns::counter", "points", "particles", "shared_by_all"}
    with pytest.raises(tarsia.NotFound, match="no variable 'tabel' in device memory; it has"):
        lib.get_global("tabel")
    with pytest.raises(TypeError, match="the number of a GPU"):
        lib.get_global("table", device="cpu")
    try:
        tensor = lib.get_global("counter")
        assert tensor.shape == () and tensor.dtype == "uint64"
    except tarsia.CudaError:
        pass  # no GPU


def test_an_unloaded_library_has_none():
    lib = tarsia.load_inline("__global__ void gone(float* x) {}", arch="sm_90")
    lib.unload()
    assert lib.kernels == () and lib.globals == ()
    with pytest.raises(AttributeError, match="was unloaded"):
        lib.gone


INCLUDE = places.REPO / "include"
FOR_DEVICES = [str(path.relative_to(INCLUDE)) for path in sorted((INCLUDE / "tarsia").rglob("*.h"))
               if "__CUDACC_RTC__" in path.read_text()
               and not {"mxnet", "class_op", "mobula"} & set(path.parts)  # parts of the headers of other interfaces
               and not path.name.startswith("macros_")]  # these stand around others


@pytest.mark.parametrize("header", FOR_DEVICES)
def test_each_header_that_is_for_device_code_can_be_read_there(header):
    """Such a header says what NVRTC sees of it. What it includes then is there, too: the grid's loop is a macro of
    <tarsia/device.h>."""
    assert "tarsia/tensor.h" in FOR_DEVICES
    source = f"#include <{header}>\n__global__ void fill(float* x, int n) {{ TARSIA_GRID_LOOP(i, n) x[i] = 1; }}\n"
    lib = tarsia.load_inline(source, arch="sm_90")
    assert lib.kernels == ("fill",)
