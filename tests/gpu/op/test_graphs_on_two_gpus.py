"""Graphs whose nodes run on several GPUs: values go from one to the other, and the caller's stream follows all of them."""

import gc

import pytest
from gpu_support import inline
from threads import at_once
from op.graphs_support import SOURCE, meet

import tarsia

torch = pytest.importorskip("torch")
N = 1 << 14


@pytest.fixture(scope="module", autouse=True)
def library():
    return inline(SOURCE, gpus=2, name="graphs")


def there_and_back(g, x, **options):
    """3 added on the second GPU and 1 on the first, with a product of both."""
    a = g.gg_slow(x, device="gpu:0", name="first", **options)
    b = x
    for i in range(3):
        b = g.gg_slow(b, device="gpu:1", name=f"second{i}", **options)
    return g.gg_product(a, b, device="gpu:0")


@pytest.mark.parametrize("home", [0, 1])
def test_values_go_from_gpu_to_gpu(home):
    g = tarsia.Graph()
    g.output(there_and_back(g, g.input("x")))
    a = torch.randn(N, device=f"cuda:{home}")
    bound = g.bind(x=a)
    for _ in range(3):
        y = bound(x=a)
        assert y.device == a.device
        torch.testing.assert_close(y, (a + 1) * (a + 3))
    assert any(f"GPU {home} -> GPU {1 - home}" in text for text in bound.plan.conversions), bound.plan.conversions
    assert torch.cuda.current_device() == 0


def test_many_runs_without_a_wait_see_their_own_values():
    g = tarsia.Graph()
    g.output(there_and_back(g, g.input("x"), cycles=200_000))
    bound = g.bind(x=((N,), "float32", "gpu:0"))
    inputs = [torch.full((N,), float(i), device="cuda:0") for i in range(60)]
    results = [bound(x=a) for a in inputs]
    for a, y in zip(inputs, results, strict=True):
        assert torch.equal(y, (a + 1) * (a + 3)), float(a[0])


def test_the_callers_stream_is_followed_and_follows():
    g = tarsia.Graph()
    g.output(there_and_back(g, g.input("x"), cycles=2_000_000))
    bound = g.bind(x=((N,), "float32", "gpu:0"))
    bound(x=torch.zeros(N, device="cuda:0"))
    stream = torch.cuda.Stream(device=0)
    with torch.cuda.stream(stream):
        for i in range(10):
            torch.cuda._sleep(5_000_000)
            late = torch.full((N,), float(i), device="cuda:0")
            y = bound(x=late)
            late.fill_(-100)  # behind the run
            z = y + 1
            stream.synchronize()
            assert torch.equal(z, torch.full_like(z, (i + 1) * (i + 3) + 1))


def test_branches_on_two_gpus_overlap():
    assert bool((meet(["gpu:0", "gpu:1"]) == 4).all())


def test_a_graph_of_the_cpu_with_nodes_on_two_gpus():
    g = tarsia.Graph()
    x = g.gg_slow(g.input("x"), device="cpu")
    g.output(g.gg_slow(there_and_back(g, x, cycles=100_000), device="cpu"))
    bound = g.bind(x=((N,), "float32", "cpu"))
    for i in range(5):
        a = torch.full((N,), float(i))
        y = torch.from_dlpack(bound(x=a))
        assert torch.equal(y, (a + 2) * (a + 4) + 1)


def test_all_nodes_on_another_gpu_than_the_inputs():
    g = tarsia.Graph()
    g.output(g.gg_twice(g.gg_scratch(g.input("x"), device="gpu:1"), device="gpu:1"))
    a = torch.randn(N, device="cuda:0")
    bound = g.bind(x=a)
    for _ in range(10):
        torch.testing.assert_close(bound(x=a), 2 * (a + 2))
    out = torch.empty_like(a)
    bound(x=a, out=out)
    torch.testing.assert_close(out, 2 * (a + 2))


def test_parameters_and_states_of_another_gpu():
    g = tarsia.Graph()
    state, weight = torch.zeros(N, device="cuda:1"), torch.full((N,), 3.0, device="cuda:0")
    collected = g.gg_collect(g.input("x"), g.state(state), device="gpu:1")
    g.output(g.gg_product(collected, g.parameter(weight), device="gpu:1"))
    bound = g.bind(x=((N,), "float32", "gpu:0"))
    a = torch.ones(N, device="cuda:0")
    for i in range(1, 4):
        assert torch.equal(bound(x=a), torch.full_like(a, 3.0 * i))
    torch.cuda.synchronize(0)
    assert torch.equal(state, torch.full_like(state, 3.0))


def test_gradients_go_back_over_the_gpus():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    loss = g.gg_twice(g.gg_product(g.gg_twice(x, device="gpu:0"), w, device="gpu:1"), device="gpu:0")
    for name, gradient in zip(("dx", "dw"), g.gradient(loss, wrt=[x, w]), strict=True):
        g.output(gradient, name)
    a, b = torch.randn(N, device="cuda:0"), torch.randn(N, device="cuda:0")
    dx, dw = g.bind(x=a, w=b)(x=a, w=b)
    torch.testing.assert_close(dx, 4 * b)
    torch.testing.assert_close(dw, 4 * a)


def test_threads_share_it():
    g = tarsia.Graph()
    g.output(there_and_back(g, g.input("x"), cycles=100_000))
    bound = g.bind(x=((N,), "float32", "gpu:0"))
    wrong = []

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream(device=0)):
            for i in range(40):
                a = torch.full((N,), float(seed * 100 + i), device="cuda:0")
                if not torch.equal(bound(x=a), (a + 1) * (a + 3)):
                    wrong.append((seed, i))

    at_once(work, range(4))
    assert not wrong


def test_shapes_that_change_share_memory_of_both():
    g = tarsia.Graph()
    g.output(there_and_back(g, g.input("x")))
    for n in (100, 5000, 300, 70_000, 100):
        a = torch.randn(n, device="cuda:0")
        torch.testing.assert_close(g(x=a), (a + 1) * (a + 3))


def test_it_is_captured_and_replayed():
    g = tarsia.Graph()
    g.output(there_and_back(g, g.input("x"), cycles=100_000))
    captured = g.bind(x=((N,), "float32", "gpu:0")).capture()
    for i in range(5):
        a = torch.full((N,), float(i), device="cuda:0")
        assert torch.equal(captured(x=a), (a + 1) * (a + 3))


def test_a_captured_graph_refuses_tensors_of_another_gpu():
    g = tarsia.Graph()
    g.output(g.gg_slow(g.input("x")))
    captured = g.bind(x=((N,), "float32", "gpu:0")).capture()
    with pytest.raises(tarsia.ArgumentValueError, match="graph: input 0 is on GPU 1, and the graph was captured on GPU 0: copy it there"):
        captured(x=torch.randn(N, device="cuda:1"))


def test_states_of_another_gpu_are_as_before_after_a_capture():
    g = tarsia.Graph()
    state = torch.full((N,), 5.0, device="cuda:1")
    g.output(g.gg_collect(g.input("x"), g.state(state), device="gpu:1"))
    captured = g.bind(x=((N,), "float32", "gpu:0")).capture()
    torch.cuda.synchronize(0), torch.cuda.synchronize(1)
    assert torch.equal(state, torch.full_like(state, 5.0))
    a = torch.ones(N, device="cuda:0")
    assert torch.equal(captured(x=a), torch.full_like(a, 6.0))
    assert torch.equal(captured(x=a), torch.full_like(a, 7.0))


def test_a_state_is_made_on_the_gpu_of_its_node():
    made = inline(r"""
#include <tarsia/op.h>
#include <cuda_runtime.h>
static int ended_on = -1;
struct Where {
  int made_on = -1;
  Where() { cudaGetDevice(&made_on); }
  ~Where() { cudaGetDevice(&ended_on); }
};
__global__ void gg_where_kernel(float* y, long n, float value) { for (long i = 0; i < n; ++i) y[i] = value; }
TARSIA_OP(gg_where).state([](const tarsia::BindInfo&) { return new Where; }).forward("gpu", [](tarsia::Context& c) {
  gg_where_kernel<<<1, 1, 0, c.stream()>>>(c.output(0).data<float>(), c.output(0).numel(), float(c.state<Where>().made_on));
});
int where_it_ended() { return ended_on; }
""", gpus=2, name="where")
    g = tarsia.Graph()
    g.output(g.gg_where(g.input("x"), device="gpu:1"))
    a = torch.ones(4, device="cuda:0")
    bound = g.bind(x=a)
    assert bound(x=a).tolist() == [1, 1, 1, 1]
    alone = tarsia.op("gg_where").bind(a.to("cuda:1"))
    assert alone(a.to("cuda:1")).tolist() == [1, 1, 1, 1]
    del bound, g, alone
    gc.collect()
    assert made.where_it_ended() == 1 and torch.cuda.current_device() == 0
