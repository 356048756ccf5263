"""The measured choice on a GPU: timed by events on the caller's stream, with nothing of the caller's changed."""

import pytest
from gpu_support import inline

import tarsia

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <tarsia/op.h>
__global__ void gm_copy_kernel(const float* x, float* y, long n, long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  TARSIA_GRID_LOOP(i, n) y[i] = x[i];
}
template <long cycles>
static void copy(tarsia::Context& c) {
  gm_copy_kernel<<<8, 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>(), c.output(0).numel(), cycles);
}
TARSIA_OP(gm_copy).forward("gpu", copy<500000>).named("slow").priority(1).forward("gpu", copy<0>).named("quick");

__global__ void gm_collect_kernel(const float* x, float* sum, float* y, long n, long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {}
  TARSIA_GRID_LOOP(i, n) y[i] = sum[i] += x[i];
}
template <long cycles>
static void collect(tarsia::Context& c) {
  gm_collect_kernel<<<8, 256, 0, c.stream()>>>(c.input(0).data<const float>(), c.input(1).data<float>(), c.output(0).data<float>(),
                                               c.output(0).numel(), cycles);
}
TARSIA_OP(gm_collect).input("x").mutable_input("sum").output("y").infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); })
    .forward("gpu", collect<500000>).named("slow").priority(1).forward("gpu", collect<0>).named("quick");
"""


@pytest.fixture(scope="module", autouse=True)
def library():
    return inline(SOURCE)


def test_the_kernels_time_decides_not_that_of_the_launch():
    x = torch.randn(4096, device="cuda")
    bound = tarsia.op("gm_copy").bind(x, implementation="measure")
    assert bound.implementation == "quick"
    assert bound.measured["slow"] > 100e-6 > bound.measured["quick"]
    assert torch.equal(bound(x), x)
    again = tarsia.op("gm_copy").bind(x, implementation="measure")
    assert again.measured == bound.measured


def test_on_a_stream_of_the_callers_after_its_work():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.randn(4097, device="cuda")
        bound = tarsia.op("gm_copy").bind(x, implementation="measure")
        y = bound(x)
    stream.synchronize()
    assert bound.implementation == "quick"
    assert torch.equal(y, x)


def test_an_input_that_the_op_changes_is_not_changed():
    x, total = torch.ones(4098, device="cuda"), torch.zeros(4098, device="cuda")
    bound = tarsia.op("gm_collect").bind(x, total, implementation="measure")
    assert bound.implementation == "quick"
    assert not total.any()
    bound(x, total)
    assert torch.equal(total, x)


def test_nothing_is_measured_while_a_cuda_graph_is_captured():
    x = torch.ones(4099, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound = tarsia.op("gm_copy").bind(x, implementation="measure")
        y = bound(x)
    graph.replay()
    torch.cuda.synchronize()
    assert (bound.implementation, bound.measured) == ("slow", {})
    assert torch.equal(y, x)


def test_a_graph_is_bound_and_captured_by_measure():
    g = tarsia.Graph()
    g.output(tarsia.ops.gm_copy(g.input("x")))
    x = torch.randn(4100, device="cuda")
    bound = g.bind(x=x, implementation="measure")
    assert bound.plan.implementations == {"gm_copy": "quick"}
    assert torch.equal(torch.from_dlpack(bound.capture()(x=x)), x)
