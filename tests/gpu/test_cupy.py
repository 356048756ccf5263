"""CuPy's arrays and current stream, and what speaks __cuda_array_interface__ alone."""

import numpy as np
import pytest
from gpu_support import SPIN, inline

import tarsia

cupy = pytest.importorskip("cupy")

SOURCE = SPIN + r"""
#include <tarsia/elementwise.h>
__global__ void scale_kernel(float* x, long n, float factor) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
void scale(float* x, long n, float factor, cudaStream_t stream) {
  scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, n, factor);
}
tarsia::Tensor doubled(const tarsia::Tensor& x, tarsia::Stream stream) {
  tarsia::Tensor y = tarsia::empty_like(x);
  cudaMemcpyAsync(y.data(), x.data(), size_t(x.bytes()), cudaMemcpyDeviceToDevice, stream);
  scale_kernel<<<(x.numel() + 255) / 256, 256, 0, stream>>>(y.data<float>(), x.numel(), 2);
  return y;
}
long stream_of(const float* x, cudaStream_t stream) { return long(stream); }
long address(const float* x) { return long(x); }
void upload(tarsia::cpu<const float> from, tarsia::gpu<float> to, long n, cudaStream_t stream) {
  cudaMemcpyAsync(to, from, n * 4, cudaMemcpyHostToDevice, stream);
}

struct Twice { template <class T> TARSIA_HOST_DEVICE T operator()(T x) const { return x + x; } };
TARSIA_ELEMENTWISE(gpu_cupy_twice, Twice);
"""


@pytest.fixture
def lib():
    return inline(SOURCE, name="gpu_cupy")


def test_functions_and_ops(lib):
    x = cupy.ones((2, 4), cupy.float32)
    lib.scale(x, 8, 3.0)
    y = lib.doubled(x)
    assert type(y) is cupy.ndarray and y.shape == (2, 4) and y.get().tolist() == [[6] * 4] * 2
    z = tarsia.ops.gpu_cupy_twice(y)
    assert type(z) is cupy.ndarray and z.get().tolist() == [[12] * 4] * 2
    out = cupy.empty_like(y)
    assert tarsia.ops.gpu_cupy_twice(y, out=out) is out and bool((out == 12).all())
    assert lib.address(x[1:]) == x.data.ptr + 16
    with pytest.raises(ValueError, match="must be contiguous"):
        lib.address(x.T)
    with pytest.raises(TypeError, match="must be a float32 tensor, got cupy.ndarray of float64"):
        lib.address(cupy.ones(3))


def test_work_goes_to_cupy_s_current_stream(lib):
    x = cupy.ones(1000, cupy.float32)
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        assert lib.stream_of(x) == stream.ptr
        lib.spin(0.2, stream)
        lib.scale(x, 1000, 5.0)
        assert not stream.done
        y = tarsia.ops.gpu_cupy_twice(x)
    stream.synchronize()
    assert bool((x == 5).all()) and bool((y == 10).all())
    assert lib.stream_of(x) != stream.ptr and lib.stream_of(x, stream) == stream.ptr


def test_arrays_of_the_cpu_are_numpy_s(lib):
    x, y = np.arange(4, dtype=np.float32), cupy.zeros(4, cupy.float32)
    lib.upload(x, y, 4)
    assert y.get().tolist() == [0, 1, 2, 3]
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="'to' .* is a torch.Tensor, and the tensors before it are of numpy"):
        lib.upload(x, torch.zeros(4, device="cuda"), 4)


class Interface:
    """An array of the GPU that has nothing but the interface."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}

    __cuda_array_interface__ = None  # classes are asked


def test_the_cuda_array_interface(lib):
    x = cupy.ones(8, cupy.float32)
    assert lib.address(Interface(x)) == x.data.ptr
    lib.scale(Interface(x), 8, 4.0)
    y = lib.doubled(Interface(x))
    assert type(y) is tarsia.Tensor and y.numpy().tolist() == [8] * 8
    frozen = Interface(x, data=(x.data.ptr, True))
    assert lib.address(frozen) == x.data.ptr
    with pytest.raises(ValueError, match="must be writable"):
        lib.scale(frozen, 8, 4.0)
    with pytest.raises(TypeError, match="mask"):
        lib.address(Interface(x, mask=x))
    with pytest.raises(ValueError, match="malformed"):
        lib.address(Interface(x, shape=None))


def test_the_interface_s_stream_is_waited_for(lib):
    x = cupy.ones(1 << 20, cupy.float32)
    x *= 1  # CuPy compiles it now, not while the other stream spins
    cupy.cuda.Device().synchronize()
    producer, consumer = cupy.cuda.Stream(non_blocking=True), cupy.cuda.Stream(non_blocking=True)
    lib.spin(0.3, producer)
    with producer:
        x *= 7
    y = Interface(x, version=3, stream=producer.ptr)
    lib.scale(y, x.size, 2.0, consumer)
    assert not consumer.done  # on the GPU, not here
    consumer.synchronize()
    assert bool((x == 14).all())
