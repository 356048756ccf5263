"""Functions and ops in JAX on a GPU: XLA's stream, gradients, errors."""

import numpy as np
import pytest
from gpu_support import OPS, SPIN, inline

import tarsia

jax = pytest.importorskip("jax")
jnp = jax.numpy

SOURCE = SPIN + r"""
#include "leaky.h"
#include <stdexcept>
__global__ void axpy_kernel(float a, const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
void axpy(float a, const float* x, float* y, long n, cudaStream_t stream) {
  if (n < 0) throw std::invalid_argument("n is below 0");
  axpy_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, x, y, n);
}
__global__ void stream_kernel(long stream, long* out) { *out = stream; }
void stream_of(long* out, cudaStream_t stream) { stream_kernel<<<1, 1, 0, stream>>>((long)stream, out); }
void slow(const float* x, float* y, long n, cudaStream_t stream) {
  spin_kernel<<<1, 1, 0, stream>>>(0.2);
  cudaMemcpyAsync(y, x, n * 4, cudaMemcpyDeviceToDevice, stream);
}
tarsia::Tensor doubled(const tarsia::Tensor& x, tarsia::Stream stream) {
  tarsia::Tensor y = tarsia::empty_like(x);
  cudaMemsetAsync(y.data(), 0, size_t(y.bytes()), stream);
  axpy_kernel<<<(x.numel() + 255) / 256, 256, 0, stream>>>(2, x.data<const float>(), y.data<float>(), x.numel());
  return y;
}
void bad_launch(float* x, cudaStream_t stream) { axpy_kernel<<<1, 2048, 0, stream>>>(1, x, x, 1); }

TARSIA_ELEMENTWISE(gpu_jax_leaky, Leaky, LeakyGradient).attribute("slope", &Leaky::slope);
"""


@pytest.fixture
def lib():
    library = inline(SOURCE, name="gpu_jax", include_dirs=[OPS])
    try:
        jax.devices("gpu")
    except RuntimeError:
        pytest.skip("JAX sees no GPU")
    import tarsia.jax  # noqa: F401

    return library


def test_ops_and_their_gradients(lib):
    leaky = tarsia.jax.function(tarsia.op("gpu_jax_leaky"), vmap="broadcast_all")
    x = jnp.linspace(-1, 1, 1000)
    expected = jnp.where(x > 0, x, 0.5 * x)
    assert jnp.allclose(leaky(x, slope=0.5), expected)
    assert jnp.allclose(jax.jit(lambda x: leaky(x, slope=0.5))(x), expected)
    assert jnp.allclose(jax.vmap(lambda x: leaky(x, slope=0.5))(x.reshape(10, 100)), expected.reshape(10, 100))
    gradient = jax.grad(lambda x: (leaky(x) * leaky(x)).sum())
    assert jnp.allclose(gradient(x), jnp.where(x > 0, 2 * x, 0.125 * x)) and jnp.allclose(jax.jit(gradient)(x), gradient(x))


def test_functions(lib):
    axpy = tarsia.jax.function(lib.axpy)
    x, y = jnp.ones(1000), jnp.full(1000, 2.0)
    assert bool((axpy(3.0, x, y, 1000) == 5).all()) and bool((y == 2).all())
    step = jax.jit(lambda x, y: axpy(1.0, x, axpy(3.0, x, y, 1000), x.size) * 2)
    for _ in range(3):
        assert bool((step(x, y) == 12).all())
    donating = jax.jit(lambda x, y: axpy(3.0, x, y, 1000), donate_argnums=1)
    assert bool((donating(x, y + 0) == 5).all())
    doubled = tarsia.jax.function(lib.doubled, outputs=lambda x: x)
    assert bool((doubled(x) == 2).all())


def test_calls_go_to_xla_s_stream(lib):
    slow = tarsia.jax.function(lib.slow, outputs=lambda x, n: x)
    x = jnp.ones(1000)
    assert bool((jax.jit(lambda x: slow(x * 3, 1000) + 1)(x) == 4).all())  # neither too early nor too late


def test_errors(lib):
    axpy, bad = tarsia.jax.function(lib.axpy), tarsia.jax.function(lib.bad_launch)
    x = jnp.ones(4)
    with pytest.raises(Exception, match="n is below 0"):
        jax.block_until_ready(axpy(1.0, x, x, -1))
    with pytest.raises(Exception, match="invalid configuration|invalid argument"):
        jax.block_until_ready(bad(x))
    assert bool((axpy(1.0, x, x, 4) == 2).all())


def test_arrays_of_the_cpu_go_to_functions_of_the_cpu(lib):
    host = tarsia.load_inline("void add(const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] += x[i]; }")
    add = tarsia.jax.function(host.add)
    x = jax.device_put(np.ones(4, np.float32), jax.devices("cpu")[0])
    assert np.asarray(add(x, x, 4)).tolist() == [2] * 4
    with pytest.raises(Exception, match="CPU"):
        jax.block_until_ready(add(jnp.ones(4), jnp.ones(4), 4))


def test_arrays_passed_as_they_are(lib):
    x = jnp.ones(4)
    assert np.asarray(lib.doubled(x)).tolist() == [2] * 4
    with pytest.raises(ValueError, match="read-only"):
        lib.axpy(1.0, x, x, 4)
    assert np.asarray(x).tolist() == [1] * 4
    x.delete()
    with pytest.raises(ValueError, match="an array of JAX that was deleted"):
        lib.doubled(x)
