"""Graphs on a GPU: streams, capture, states, nodes on the CPU."""

import pickle

import pytest
from gpu_support import inline
from threads import at_once
from op.graphs_support import SOURCE, meet

import tarsia

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module", autouse=True)
def library():
    return inline(SOURCE, name="graphs")


def test_a_graph_computes_what_its_ops_compute_on_the_callers_stream():
    g = tarsia.Graph()
    x, w = g.input("x"), g.parameter(torch.full((1000,), 3.0, device="cuda"))
    g.output(g.gg_twice(g.gg_product(x, w)))
    a = torch.randn(1000, device="cuda")
    bound = g.bind(x=a)
    assert torch.equal(bound(x=a), a * 3 + a * 3)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        late = a + 1
        got = bound(x=late)
    stream.synchronize()
    assert torch.equal(got, late * 3 + late * 3)
    assert bound.plan.implementations["gg_twice"].startswith("gpu")


def test_independent_branches_overlap():
    assert bool((meet(["gpu:0", "gpu:0"]) == 4).all())


def test_streams_of_branches_never_see_memory_too_early():
    # Values of branches share memory one after the other; many runs in a row without waiting.
    g = tarsia.Graph()
    x = g.input("x")
    total = None
    for i in range(6):
        v = g.gg_slow(x, cycles=200_000 * (i % 3))
        for _ in range(3):
            v = g.gg_slow(v, cycles=100_000)
        total = v if total is None else g.gg_product(total, v)
    g.output(total)
    bound = g.bind(x=((1 << 14,), "float32", "gpu"))
    inputs = [torch.full((1 << 14,), float(i % 5), device="cuda") for i in range(40)]
    results = [bound(x=a) for a in inputs]
    for a, got in zip(inputs, results, strict=True):
        assert torch.equal(got, (a + 4) ** 6), float(a[0])


def test_calls_of_several_threads_and_streams_do_not_disturb_each_other():
    g = tarsia.Graph()
    x = g.input("x")
    v = x
    for _ in range(8):
        v = g.gg_slow(v, cycles=50_000)
    g.output(v)
    bound = g.bind(x=((4096,), "float32", "gpu"))
    wrong = []

    def work(seed):
        with torch.cuda.stream(torch.cuda.Stream()):
            for i in range(30):
                a = torch.full((4096,), float(seed * 100 + i), device="cuda")
                got = bound(x=a)
                if not torch.equal(got, a + 8):
                    wrong.append((seed, i))

    at_once(work, range(4))
    assert not wrong


def test_scratch_that_an_op_announces_is_planned():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gg_scratch(g.gg_product(g.gg_scratch(x), x)))
    a = torch.ones(1 << 20, device="cuda")
    bound, out = g.bind(x=a), torch.empty_like(a)
    assert bound.plan.workspace == 4 << 20
    for _ in range(3):
        bound(x=a, out=out)
    assert torch.equal(out, (a + 2) * a + 2)


def test_capture_replays_with_new_inputs_and_fresh_results():
    g = tarsia.Graph()
    x, w = g.input("x"), g.parameter(torch.full((512,), 2.0, device="cuda"), "w")
    g.output(g.gg_scratch(g.gg_product(x, w)), "y")
    captured = g.bind(x=((512,), "float32", "gpu")).capture()
    a, b = torch.randn(512, device="cuda"), torch.randn(512, device="cuda")
    first, second = captured(x=a), captured(x=b)
    assert torch.equal(first, a * 2 + 1 + 1) and torch.equal(second, b * 2 + 1 + 1)
    assert type(first) is torch.Tensor
    torch.from_dlpack(captured.inputs["x"]).copy_(a)
    captured.replay(torch.cuda.current_stream())
    assert torch.equal(torch.from_dlpack(captured.outputs[0]), a * 2 + 1 + 1)
    with pytest.raises(tarsia.Error, match="shape and dtype"):
        captured(x=torch.randn(7, device="cuda"))


def test_capture_leaves_states_as_they_were_and_replays_change_them():
    state = torch.full((64,), 5.0, device="cuda")
    g = tarsia.Graph()
    g.output(g.gg_collect(g.input("x"), g.state(state, "total")))
    bound = g.bind(x=((64,), "float32", "gpu"))
    captured = bound.capture()
    assert torch.equal(state, torch.full_like(state, 5))
    one = torch.ones(64, device="cuda")
    assert torch.equal(captured(x=one), torch.full_like(state, 6))
    assert torch.equal(bound(x=one), torch.full_like(state, 7)) and torch.equal(state, torch.full_like(state, 7))


def test_branches_are_captured_too():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gg_product(g.gg_slow(x, cycles=1000), g.gg_slow(g.gg_slow(x, cycles=10), cycles=10)))
    a = torch.randn(4096, device="cuda")
    assert torch.equal(g.bind(x=a).capture()(x=a), (a + 1) * (a + 1 + 1))


def test_a_graph_is_part_of_a_cuda_graph_that_pytorch_captures():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gg_product(g.gg_slow(x), g.gg_twice(x)))
    a, out = torch.randn(1000, device="cuda"), torch.empty(1000, device="cuda")
    bound = g.bind(x=a)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        bound(x=a, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound(x=a, out=out)
    for _ in range(3):
        a.normal_()
        other = torch.randn(1000, device="cuda")
        graph.replay()
        bound(x=other)  # has memory of its own
        assert torch.equal(out, (a + 1) * (a + a))


def test_a_node_on_the_cpu_gets_copies_which_the_plan_names():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gg_twice(g.add("gg_slow", g.gg_twice(x), device="cpu", name="here")))
    a = torch.randn(100, device="cuda")
    bound = g.bind(x=a)
    assert torch.equal(bound(x=a), (a + a + 1) * 2)
    assert len(bound.plan.conversions) == 2 and "GPU 0 -> the CPU" in bound.plan.conversions[0]
    with pytest.raises(tarsia.Unsupported, match="uses the CPU"):
        bound.capture()


def test_a_constant_of_the_cpu_is_copied_once_and_gradients_are_those_of_the_ops():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gg_product(x, g.gg_product(x, g.constant(torch.full((10,), 2.0).numpy())))
    g.output(y, "y")
    g.output(g.gradient(y, wrt=x), "dx")
    a = torch.randn(10, device="cuda")
    bound = g.bind(x=a)
    y, dx = bound(x=a)
    assert torch.allclose(y, 2 * a * a) and torch.allclose(dx, 4 * a)
    assert not bound.plan.conversions


def test_a_graph_is_an_operator_of_pytorch_with_autograd():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    g.output(g.gg_twice(g.gg_product(x, g.gg_product(x, w))))
    op = tarsia.torch.register(g.register("gg_registered", differentiable=True))
    x, w = (torch.randn(50, device="cuda", requires_grad=True) for _ in range(2))
    op(x, w).sum().backward()
    assert torch.allclose(x.grad, 4 * x * w) and torch.allclose(w.grad, 2 * x * x)


def test_an_error_of_a_node_names_it_and_the_graph_works_on():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gg_collect(x, g.input("state"), name="the_culprit"))
    with pytest.raises(tarsia.Error, match="the_culprit"):
        g.bind(x=((4,), "float32", "cpu"), state=((4,), "float32", "cpu"))


def counting(name, total):
    """Registers a graph that adds its input to a tensor, and gives the sum."""
    inner = tarsia.Graph()
    inner.output(inner.gg_slow(inner.gg_collect(inner.gg_slow(inner.input("x"), cycles=300_000), inner.state(total))))
    inner.register(name)


def test_two_runs_of_a_graph_with_a_state_keep_their_order():
    total = torch.zeros(1 << 12, device="cuda")
    counting("gg_counts", total)
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gg_counts(x))
    g.output(g.gg_counts(x))
    a = torch.zeros(1 << 12, device="cuda")
    bound = g.bind(x=a)
    for i in range(20):
        first, second = bound(x=a)
        assert torch.equal(first, torch.full_like(a, 2 * i + 2.0)) and torch.equal(second, torch.full_like(a, 2 * i + 3.0))


def test_capture_leaves_states_of_graphs_within_as_they_were():
    total = torch.full((64,), 5.0, device="cuda")
    counting("gg_counts_captured", total)
    g = tarsia.Graph()
    g.output(g.gg_counts_captured(g.input("x")))
    captured = g.bind(x=((64,), "float32", "gpu")).capture()
    torch.cuda.synchronize()
    assert torch.equal(total, torch.full_like(total, 5))
    assert captured(x=torch.ones(64, device="cuda"))[0].item() == 5 + 2 + 1


def test_tensors_of_json_and_pickles_lie_on_the_gpu_again():
    g = tarsia.Graph()
    total = torch.zeros(8, device="cuda")
    g.output(g.gg_product(g.gg_collect(g.input("x"), g.state(total)), g.parameter(torch.full((8,), 3.0, device="cuda"))))
    a = torch.ones(8, device="cuda")
    for other in (tarsia.Graph.from_json(g.to_json()), pickle.loads(pickle.dumps(g)), tarsia.Graph.from_json(g.to_json(), device="gpu")):
        bound = other.bind(x=a)
        assert bound.plan.conversions == []
        assert torch.equal(bound(x=a), torch.full_like(a, 3)) and torch.equal(bound(x=a), torch.full_like(a, 6))
    assert total.sum() == 0


def test_values_lie_aligned_though_the_callers_output_is_not():
    g = tarsia.Graph()
    g.output(tarsia.ops.cast(tarsia.ops.negative(-tarsia.ops.cast(g.input("x"), dtype="float64")), dtype="uint8"))
    a = torch.arange(1024, device="cuda").to(torch.uint8)
    bound = g.bind(x=a)
    for shift in range(3):
        out = torch.empty(1024 + shift, dtype=torch.uint8, device="cuda")[shift:]
        bound(x=a, out=out)
        assert torch.equal(out, a)
