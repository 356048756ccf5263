"""Functions with pointers and streams: which arguments they take on a GPU, what they give, what is refused."""

import numpy as np
import pytest
from gpu_support import RELU, inline

import tarsia

torch = pytest.importorskip("torch")

SOURCE = RELU + r"""
#include <tarsia/op.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdexcept>
#include <tuple>
#include <vector>

template <class T>
__global__ void twice_kernel(const T* x, T* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + x[i];
}
template <class T>
void run_twice(const T* x, T* y, int n, cudaStream_t s) { twice_kernel<T><<<(n + 127) / 128, 128, 0, s>>>(x, y, n); }
void twice(const float* x, float* y, int n, cudaStream_t s) { run_twice(x, y, n, s); }
void twice(const double* x, double* y, int n, cudaStream_t s) { run_twice(x, y, n, s); }
void twice(const __half* x, __half* y, int n, cudaStream_t s) { run_twice(x, y, n, s); }
void twice(const __nv_bfloat16* x, __nv_bfloat16* y, int n, cudaStream_t s) { run_twice(x, y, n, s); }
void twice(const int8_t* x, int8_t* y, int n, cudaStream_t s) { run_twice(x, y, n, s); }
void twice(const uint8_t* x, uint8_t* y, int n, cudaStream_t s) { run_twice(x, y, n, s); }
void twice(const int64_t* x, int64_t* y, int n, cudaStream_t s) { run_twice(x, y, n, s); }

__global__ void add4_kernel(const float4* x, float4* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = make_float4(x[i].x + 1, x[i].y + 2, x[i].z + 3, x[i].w + 4);
}
void add4(const float4* x, float4* y, int n, cudaStream_t s) { add4_kernel<<<(n + 127) / 128, 128, 0, s>>>(x, y, n); }

__global__ void fill_kernel(float* y, long n, float value) { TARSIA_GRID_LOOP(i, n) y[i] = value; }
void fill(float* y, long n, float value = 5.0f) { fill_kernel<<<tarsia::blocks(n), 256>>>(y, n, value); }
void fill_on(float* y, long n, cudaStream_t s, float value = 6.0f) { fill_kernel<<<tarsia::blocks(n), 256, 0, s>>>(y, n, value); }
void too_wide(float* y, long n) { fill_kernel<<<1, 4096>>>(y, n, 1); }
int too_wide_handled(float* y, long n) {
  fill_kernel<<<1, 4096>>>(y, n, 1);
  return cudaGetLastError();
}
tarsia::Tensor too_wide_like(const tarsia::Tensor& x) {
  tarsia::Tensor y = tarsia::empty_like(x);
  fill_kernel<<<1, 4096>>>(y.data<float>(), y.numel(), 1);
  return y;
}

tarsia::Tensor filled_like(const tarsia::Tensor& x, float value) {
  tarsia::Tensor y = tarsia::empty_like(x);
  if (y.is_gpu())
    fill_kernel<<<tarsia::blocks(y.numel()), 256, 0, tarsia::Stream::current()>>>(y.data<float>(), y.numel(), value);
  else
    for (int64_t i = 0; i < y.numel(); ++i) y.data<float>()[i] = value;
  return y;
}
tarsia::Tensor made(int rows, int columns, float value) {
  tarsia::Tensor y = tarsia::empty({rows, columns}, tarsia::float32, tarsia::gpu_device());
  fill_kernel<<<tarsia::blocks(y.numel()), 256, 0, tarsia::Stream::current()>>>(y.data<float>(), y.numel(), value);
  return y;
}
tarsia::Tensor made_on_cpu(int n) {
  tarsia::Tensor y = tarsia::empty({n}, tarsia::int32, tarsia::cpu_device());
  for (int i = 0; i < n; ++i) y.data<int>()[i] = i;
  return y;
}
std::tuple<tarsia::Tensor, tarsia::Tensor, double> several(const tarsia::Tensor& x) {
  return {filled_like(x, 1), filled_like(x, 2), 3.5};
}
std::vector<tarsia::Tensor> list_of(const std::vector<tarsia::Tensor>& x) {
  std::vector<tarsia::Tensor> y;
  for (const tarsia::Tensor& t : x) y.push_back(filled_like(t, float(y.size())));
  return y;
}
tarsia::Tensor same(const tarsia::Tensor& x) { return x; }
int add(int a, int b) { return a + b; }
int64_t address(const void* x) { return int64_t(x); }
void declared(tarsia::cpu<const float> x, tarsia::gpu<float> y, int n, cudaStream_t s) {
  cudaMemcpyAsync(y, x, n * sizeof(float), cudaMemcpyHostToDevice, s);
}
void too_many_threads(float* y, cudaStream_t s) {
  fill_kernel<<<1, 4096, 0, s>>>(y, 1, 0.0f);
  if (cudaError_t error = cudaGetLastError()) throw std::runtime_error(cudaGetErrorString(error));
}
__global__ void write_to_nowhere_kernel(int* p) { *p = 1; }
void write_to_nowhere(cudaStream_t s) { write_to_nowhere_kernel<<<1, 1, 0, s>>>((int*)16); }
int synchronize() { return int(cudaDeviceSynchronize()); }
"""


@pytest.fixture
def lib():
    lib = inline(SOURCE, name="gpu_functions")
    assert not lib.skipped or set(lib.skipped) <= {"run_twice"}
    return lib


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int64"])
def test_overloads_by_dtype(lib, dtype):
    x = torch.arange(50, device="cuda").to(getattr(torch, dtype))
    y = torch.empty_like(x)
    lib.twice(x, y, 50)
    assert torch.equal(y, x + x)


def test_no_overload_fits(lib):
    x = torch.ones(4, device="cuda", dtype=torch.complex64)
    with pytest.raises(TypeError, match="twice"):
        lib.twice(x, x, 4)


def test_vector_types(lib):
    x = torch.zeros(3, 8, device="cuda")
    y = torch.empty_like(x)
    lib.add4(x, y, 6)
    assert y.tolist() == [[1, 2, 3, 4] * 2] * 3
    with pytest.raises((TypeError, ValueError), match="'x'"):
        lib.add4(torch.zeros(3, 6, device="cuda"), y, 4)


def test_calls_without_a_stream_use_the_default_one(lib):
    y = torch.zeros(1000, device="cuda")
    lib.fill(y, 1000)
    assert bool((y == 5).all())
    lib.fill(y, 1000, 8)
    assert bool((y == 8).all())


def test_default_arguments_behind_a_stream(lib):
    y = torch.zeros(10, device="cuda")
    lib.fill_on(y, 10)
    assert y.tolist() == [6] * 10
    lib.fill_on(y, 10, value=7)
    assert y.tolist() == [7] * 10
    lib.fill_on(y, 10, torch.cuda.current_stream(), 8)
    assert y.tolist() == [8] * 10


def test_a_launch_that_fails_is_an_error_of_the_call(lib):
    y = torch.zeros(10, device="cuda")
    for _ in range(2):
        with pytest.raises(tarsia.CudaError, match=r"too_wide\(\) left an error of CUDA behind: cudaErrorInvalid(Configuration|Value): "):
            lib.too_wide(y, 10)
        lib.fill(y, 10)  # the error was taken
    assert y.tolist() == [5] * 10
    with pytest.raises(tarsia.CudaError, match="cudaErrorInvalid"):
        lib.too_wide_like(y)
    assert lib.too_wide_handled(y, 10) in (1, 9)  # cudaErrorInvalidValue or …InvalidConfiguration, by the driver
    lib.fill(y, 10)


def test_errors_of_launches_and_of_other_calls_are_told_of_whom_they_are():
    launches = tarsia.load_inline("""
    __global__ void five(float* y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 5; }
    void fill(float* y, int n, cudaStream_t stream) { five<<<1, 32, 0, stream>>>(y, n); }
    void too_wide(float* y, int n, cudaStream_t stream) { five<<<1, 4096, 0, stream>>>(y, n); }
    """)
    calls = inline("""
    void gone(float* y, cudaStream_t stream) { cudaSetDevice(99); }
    int left(float* y, cudaStream_t stream) { return cudaSetDevice(99); }
    void nothing(float* y, cudaStream_t stream) {}
    """)
    y = torch.zeros(10, device="cuda")
    for _ in range(2):
        with pytest.raises(tarsia.CudaError, match=r"gone\(\) left an error of CUDA behind: cudaErrorInvalidDevice"):
            calls.gone(y)
        with pytest.raises(tarsia.CudaError, match=r"too_wide\(\) left an error of CUDA behind: cudaErrorInvalid"):
            launches.too_wide(y, 10)
        assert calls.left(y) == 101
        launches.fill(y, 10)  # which launched well: what another library left is not its error
        assert y.tolist() == [5] * 10
        with pytest.raises(tarsia.CudaError, match="cudaErrorInvalidDevice"):
            calls.nothing(y)
        calls.nothing(y)


def test_results_come_from_torchs_own_memory(lib):
    x = torch.empty(1 << 20, device="cuda")
    before = torch.cuda.memory_allocated()
    y = lib.filled_like(x, 4)
    assert type(y) is torch.Tensor and y.device == x.device and torch.cuda.memory_allocated() - before >= 4 << 20
    assert bool((y == 4).all())
    del y
    assert torch.cuda.memory_allocated() == before
    a, b, number = lib.several(x)
    assert bool((a == 1).all()) and bool((b == 2).all()) and number == 3.5
    assert [t.tolist() for t in lib.list_of([x[:2], x[:3]])] == [[0, 0], [1, 1, 1]]
    assert lib.same(x) is x
    assert isinstance(lib.filled_like(torch.empty(3), 4), torch.Tensor)
    assert lib.filled_like(np.empty(3, np.float32), 4).tolist() == [4] * 3


def test_results_without_a_tensor_in(lib):
    t = lib.made(2, 3, 1.5)
    assert type(t) is tarsia.Tensor
    assert (t.shape, t.strides, t.dtype, t.device, t.ndim, t.size, t.nbytes) == ((2, 3), (3, 1), "float32", "cuda:0", 2, 6, 24)
    assert t.__dlpack_device__() == (2, 0)
    assert torch.from_dlpack(t).tolist() == t.numpy().tolist() == [[1.5] * 3] * 2
    y = torch.empty(2, 3, device="cuda")
    lib.twice(t, y, 6)
    assert y.tolist() == [[3] * 3] * 2
    assert type(lib.filled_like(t, 2)) is tarsia.Tensor
    array = lib.made_on_cpu(4)
    assert type(array) is np.ndarray and array.tolist() == [0, 1, 2, 3]
    tensors = [lib.made(1000, 1000, i) for i in range(50)]
    assert [float(torch.from_dlpack(t)[-1, -1]) for t in tensors] == list(range(50))


def test_wrong_places_dtypes_and_layouts_are_refused(lib):
    gpu, cpu, out = torch.ones(8, device="cuda"), torch.ones(8), torch.zeros(8, device="cuda")
    refused = [
        ((cpu, out, 8), ValueError, "'x'.*must be on a GPU"),
        ((gpu, torch.zeros(8), 8), ValueError, "'y'.*must be on a GPU"),
        ((gpu.numpy(force=True), out, 8), ValueError, "'x'.*must be on a GPU"),
        ((gpu.double(), out, 8), TypeError, "'x'.*float32.*float64"),
        ((torch.ones(8, 2, device="cuda")[:, 0], out, 8), ValueError, "'x'.*contiguous"),
        ((gpu, torch.ones(2, 4, device="cuda").T, 8), ValueError, "'y'.*contiguous"),
        ((gpu, out), TypeError, "n"),
        ((gpu, out, "8"), TypeError, "'n'"),
        ((gpu, out, 2**70), ValueError, "'n'"),
        ((None, out, 8), TypeError, "'x'"),
        ((gpu, out, 8, "stream"), TypeError, "stream"),
        ((gpu, out, 8, None, 1), TypeError, "relu"),
    ]
    for arguments, kind, words in refused:
        with pytest.raises(kind, match=words) as raised:
            lib.relu(*arguments)
        assert isinstance(raised.value, tarsia.Error), arguments
        assert "relu" in str(raised.value)
    assert out.tolist() == [0] * 8
    with pytest.raises(ValueError, match="'x'.*must be on the CPU"):
        lib.declared(gpu, out, 8)
    lib.declared(cpu, out, 8)
    lib.relu(gpu, out, 8)
    assert out.tolist() == [1] * 8


def test_a_function_of_a_source_without_cuda_wants_the_cpu(lib):
    host = tarsia.load_inline("float first(const float* x) { return x[0]; }")
    with pytest.raises(ValueError, match=r"'x'.*must be on the CPU"):
        host.first(torch.ones(1, device="cuda"))
    assert host.first(torch.ones(1)) == 1
    pinned = torch.full((4,), 3.0).pin_memory()
    assert host.first(pinned) == 3


def test_pinned_memory_is_the_cpus(lib):
    pinned, out = torch.full((8,), 3.0).pin_memory(), torch.zeros(8, device="cuda")
    lib.declared(pinned, out, 8)
    assert out.tolist() == [3] * 8


def test_launch_errors_are_the_authors_to_throw(lib):
    y = torch.zeros(1, device="cuda")
    with pytest.raises(tarsia.OpError, match="invalid"):
        lib.too_many_threads(y)
    lib.fill(y, 1)
    assert float(y) == 5


def test_a_spoiled_context_is_an_error_and_no_crash(lib):
    torch.zeros(1, device="cuda")
    lib.write_to_nowhere()
    assert lib.synchronize() != 0
    with pytest.raises(tarsia.Error):
        lib.made(2, 2, 1)
    assert lib.add(2, 3) == 5
    host = tarsia.load_inline("int still_there() { return 42; }")
    assert host.still_there() == 42


def test_views_and_offsets_are_taken_where_they_lie(lib):
    x = torch.arange(20, device="cuda", dtype=torch.float32)
    assert lib.address(x[5:]) == x.data_ptr() + 20
    y = torch.empty(15, device="cuda")
    lib.twice(x[5:], y, 15)
    assert torch.equal(y, x[5:] * 2)


def test_autograd_leaves_are_taken(lib):
    x, y = torch.ones(4, device="cuda", requires_grad=True), torch.zeros(4, device="cuda")
    lib.relu(x.detach(), y, 4)
    assert y.tolist() == [1] * 4
