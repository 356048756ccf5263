"""Calls from Python with tensors on a GPU: PyTorch, CuPy, JAX, tarsia.Tensor; streams, devices, graphs."""

import numpy as np
import pytest
from gpu_support import inline

import tarsia

torch = pytest.importorskip("torch")

SOURCE = """
#include <tarsia/op.h>
__global__ void scale_kernel(float* x, int n, float factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= factor;
}
void scale(float* x, int n, float factor, cudaStream_t stream) {
  scale_kernel<<<8, 128, 0, stream>>>(x, n, factor);
}
tarsia::Tensor scaled(const tarsia::Tensor& x, float factor, tarsia::Stream stream) {
  tarsia::Tensor y = tarsia::empty_like(x);
  cudaMemcpyAsync(y.data(), x.data(), size_t(x.bytes()), cudaMemcpyDeviceToDevice, stream);
  scale_kernel<<<8, 128, 0, stream>>>(y.data<float>(), int(y.numel()), factor);
  return y;
}
tarsia::Tensor made(int n, int device, tarsia::Stream stream) {
  tarsia::Tensor y = tarsia::empty({n}, tarsia::float32, tarsia::gpu_device(device));
  cudaMemsetAsync(y.data(), 0, size_t(y.bytes()), stream);
  return y;
}
int64_t stream_of(const float* x, cudaStream_t stream) { return int64_t(stream); }
int64_t current_stream(const tarsia::Tensor& x) {
  return int64_t(static_cast<cudaStream_t>(tarsia::Stream::current()));
}
int current_device(const float* x, cudaStream_t stream) {
  int device = -1;
  cudaGetDevice(&device);
  return device;
}
int64_t address(const float* x) { return int64_t(x); }
void mixed(tarsia::cpu<const float> from, tarsia::gpu<float> to, int n, cudaStream_t stream) {
  cudaMemcpyAsync(to, from, size_t(n) * 4, cudaMemcpyHostToDevice, stream);
}
"""


@pytest.fixture
def lib():
    return inline(SOURCE, name="gpu_calls")


def test_tensors_are_taken_where_they_lie(lib):
    x = torch.ones(1000, device="cuda")
    assert lib.address(x) == x.data_ptr()
    lib.scale(x, 1000, 3.0)
    assert bool((x == 3).all())


def test_calls_run_on_the_current_stream(lib):
    x = torch.ones(4, device="cuda")
    assert lib.stream_of(x) == lib.current_stream(x) == torch.cuda.current_stream().cuda_stream
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert lib.stream_of(x) == lib.current_stream(x) == stream.cuda_stream != 0
    other = torch.cuda.Stream()
    assert lib.stream_of(x, other) == other.cuda_stream
    assert lib.stream_of(x, other.cuda_stream) == other.cuda_stream
    assert lib.stream_of(x, stream=other) == other.cuda_stream
    assert lib.stream_of(x, None) == 0


def test_results_are_torch_tensors_of_the_stream(lib):
    x = torch.full((1 << 20,), 2.0, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y = lib.scaled(x, 4.0)
        for _ in range(10):
            y = lib.scaled(y, 1.0)
    stream.synchronize()
    assert type(y) is torch.Tensor and y.is_cuda and bool((y == 8).all())


def test_a_result_from_nowhere_goes_everywhere(lib):
    t = lib.made(6, 0)
    assert type(t) is tarsia.Tensor and t.device == "cuda:0" and t.shape == (6,)
    assert t.numpy().tolist() == [0] * 6 and np.asarray(t).tolist() == [0] * 6
    y = torch.from_dlpack(t)
    assert y.is_cuda and y.data_ptr() == t.data_ptr() and y.tolist() == [0] * 6
    z = torch.as_tensor(t, device="cuda")
    assert z.data_ptr() == t.data_ptr()
    y += 1
    lib.scale(t, 6, 5.0)
    assert y.tolist() == [5] * 6
    del t
    assert y.tolist() == [5] * 6
    with pytest.raises(ValueError):
        np.array(lib.made(2, 0), copy=False)


def test_places_are_checked(lib):
    gpu, cpu = torch.ones(4, device="cuda"), torch.ones(4)
    with pytest.raises(tarsia.ArgumentValueError, match=r"must be on a GPU, since the function takes a stream.*\.cuda"):
        lib.scale(cpu, 4, 1.0)
    with pytest.raises(tarsia.ArgumentValueError, match="must be on the CPU"):
        lib.mixed(gpu, gpu, 4)
    lib.mixed(cpu * 7, gpu, 4)
    assert gpu.tolist() == [7] * 4
    host = tarsia.load_inline("long address(const float* x) { return long(x); }")
    with pytest.raises(tarsia.ArgumentValueError, match=r"the source has no CUDA\); pass x\.cpu\(\)"):
        host.address(gpu)
    assert host.address(cpu.pin_memory()) != 0


def test_graphs_capture_calls(lib):
    x = torch.ones(16, device="cuda")
    lib.scale(x, 16, 1.0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        lib.scale(x, 16, 2.0)
        lib.scale(x, 16, 2.0)
    assert x.tolist() == [1] * 16
    graph.replay()
    graph.replay()
    assert x.tolist() == [16] * 16


def test_cupy(lib):
    cupy = pytest.importorskip("cupy")
    x = cupy.ones(8, dtype=cupy.float32)
    lib.scale(x, 8, 3.0)
    assert x.get().tolist() == [3] * 8
    with cupy.cuda.Stream() as stream:
        assert lib.stream_of(x) == stream.ptr != 0
        y = lib.scaled(x, 2.0)
    stream.synchronize()
    assert type(y) is cupy.ndarray and y.get().tolist() == [6] * 8
    assert lib.stream_of(x, stream) == stream.ptr
    t = cupy.from_dlpack(lib.made(3, 0))
    assert t.get().tolist() == [0] * 3


def test_jax(lib):
    jax = pytest.importorskip("jax")
    try:
        device = jax.devices("gpu")[0]
    except RuntimeError:
        pytest.skip("JAX sees no GPU")
    x = jax.device_put(np.ones(8, np.float32), device)
    y = lib.scaled(x, 3.0)
    torch.cuda.synchronize()
    assert np.asarray(y).tolist() == [3] * 8 and np.asarray(x).tolist() == [1] * 8
