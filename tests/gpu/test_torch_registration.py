"""Operators of PyTorch over functions and ops, on a GPU: streams, gradients, compiled and captured graphs, threads."""

import importlib.util

import pytest
from gpu_support import HOLD, OPS, Gate, inline, require_gpus
from threads import at_once

import tarsia

torch = pytest.importorskip("torch")

SOURCE = HOLD + r"""
#include "leaky.h"
__global__ void axpy_kernel(float a, const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
void axpy(float a, const float* x, float* y, long n, cudaStream_t stream) {
  axpy_kernel<<<(n + 255) / 256, 256, 0, stream>>>(a, x, y, n);
}
__global__ void relu_kernel(const float* x, float* y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
__global__ void relu_backward_kernel(const float* dy, const float* y, float* dx, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) dx[i] = y[i] > 0 ? dy[i] : 0;
}
void relu(const float* x, float* y, long n, cudaStream_t stream) {
  relu_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
void relu_backward(const float* dy, const float* y, float* dx, long n, cudaStream_t stream) {
  relu_backward_kernel<<<(n + 255) / 256, 256, 0, stream>>>(dy, y, dx, n);
}
int64_t stream_of(const float* x, cudaStream_t stream) { return int64_t(stream); }

TARSIA_ELEMENTWISE(gpu_leaky, Leaky, LeakyGradient).attribute("slope", &Leaky::slope);
"""


@pytest.fixture
def lib():
    import tarsia.torch  # noqa: F401

    return inline(SOURCE, name="gpu_operators", include_dirs=[OPS])


@pytest.fixture
def leaky(lib):
    return tarsia.torch.register(tarsia.op("gpu_leaky"), vmap=True, autocast={"cuda": torch.float16})


def test_opcheck_passes(lib, leaky):
    x = torch.randn(100, device="cuda", requires_grad=True)
    for operator, arguments in [
        (leaky, (x,)),
        (tarsia.torch.register(lib.axpy), (2.0, x.detach(), torch.zeros(100, device="cuda"), 100)),
        (tarsia.torch.function(lib.relu, lib.relu_backward, "gpu_relu", outputs=lambda x, n: torch.empty_like(x)), (x, 100)),
    ]:
        results = torch.library.opcheck(operator.default, arguments)
        assert set(results.values()) == {"SUCCESS"}, results


def test_calls_go_to_the_current_stream_and_wait_for_nothing(lib):
    stream_of = tarsia.torch.register(lib.stream_of)
    axpy = tarsia.torch.register(lib.axpy)
    x, y = torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    axpy(1.0, x, y, 1000)
    gate, opened = Gate(), Gate(is_open=True)
    lib.hold(opened.address, 0)
    torch.cuda.synchronize()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert stream_of(x) == side.cuda_stream
        lib.hold(gate.address, side)
        held = side.record_event()
        axpy(1.0, x, y, 1000)
        assert not held.query()
    gate.open()
    side.synchronize()
    assert bool((y == 2).all())


def test_gradients(lib, leaky):
    x = torch.randn(50, 7, device="cuda", requires_grad=True)
    (leaky(x, slope=0.5) * leaky(x)).t().sum().backward()
    expected = torch.where(x > 0, 2 * x, 0.25 * x)
    torch.testing.assert_close(x.grad, expected.detach())
    relu = tarsia.torch.function(lib.relu, lib.relu_backward, outputs=lambda x, n: torch.empty_like(x))
    x.grad = None
    relu(x, x.numel()).sum().backward()
    assert torch.equal(x.grad, (x > 0).float())


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs(lib, leaky, backend):
    if backend == "inductor" and importlib.util.find_spec("triton") is None:
        pytest.skip("inductor needs Triton on a GPU")
    axpy = tarsia.torch.register(lib.axpy)
    relu = tarsia.torch.function(lib.relu, lib.relu_backward, "gpu_relu", outputs=lambda x, n: torch.empty_like(x))

    def step(x):
        y = torch.zeros_like(x)
        axpy(3.0, x.detach(), y, x.numel())
        return (relu(leaky(x, slope=0.1), x.numel()) * y).sum()

    compiled = torch.compile(step, fullgraph=True, backend=backend)
    x = torch.randn(1000, device="cuda", requires_grad=True)
    torch.testing.assert_close(compiled(x), step(x))
    compiled(x).backward()
    torch.testing.assert_close(x.grad, torch.where(x > 0, 3 * x, 0).detach())


def test_captured_graphs(lib, leaky):
    axpy = tarsia.torch.register(lib.axpy)
    x, y = torch.randn(1000, device="cuda", requires_grad=True), torch.zeros(1000, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            x.grad = None
            leaky(x).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    x.grad = None
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        axpy(1.0, x.detach(), y, 1000)
        leaky(x).sum().backward()
    y.zero_()
    with torch.no_grad():
        x.fill_(-1)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
    assert bool((y == -3).all()) and bool((x.grad == 0.25).all())


def test_autocasting_and_vmap(leaky):
    x = torch.randn(4, 5, device="cuda")
    with torch.autocast("cuda", torch.float16):
        assert leaky(x).dtype == torch.float16
    assert torch.equal(torch.vmap(leaky)(x), leaky(x))


def test_threads(lib, leaky):
    axpy = tarsia.torch.register(lib.axpy)

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(20):
                x = torch.full((10000,), float(seed), device="cuda", requires_grad=True)
                y = torch.zeros(10000, device="cuda")
                axpy(2.0, x.detach(), y, 10000)
                leaky(-x).sum().backward()
                assert bool((y == 2 * seed).all()) and bool((x.grad == -0.25).all())

    at_once(work, range(1, 7))


def test_data_parallel(leaky):
    require_gpus(2)

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(8, 8)

        def forward(self, x):
            return leaky(self.linear(x))

    module = Module().to("cuda:0")
    parallel = torch.nn.DataParallel(module, device_ids=[0, 1])
    x = torch.randn(64, 8, device="cuda:0")
    torch.testing.assert_close(parallel(x), module(x))
    parallel(x).sum().backward()
    gradient = module.linear.weight.grad.clone()
    module.zero_grad()
    module(x).sum().backward()
    torch.testing.assert_close(gradient, module.linear.weight.grad)
