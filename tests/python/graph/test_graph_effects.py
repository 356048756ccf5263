"""Graphs whose ops change states and inputs: what runs though nobody uses its outputs, in which order, and what gradients read."""

import copy
import json
import pickle

import numpy as np
import pytest

import tarsia


def test_an_op_that_changes_an_input_runs_though_nobody_uses_its_output():
    g = tarsia.Graph()
    x, total = g.input("x"), g.input("total")
    g.gr_running(x, total)
    g.output(-x)
    array = np.zeros(3)
    assert g(x=np.ones(3), total=array).tolist() == [-1, -1, -1]
    assert array.tolist() == [1, 1, 1]


def test_a_changed_input_may_be_a_result():
    g = tarsia.Graph()
    x, total = g.input("x"), g.input("total")
    g.gr_running(x, total)
    g.output(total)
    array = np.zeros(3)
    assert g(x=np.ones(3), total=array).tolist() == [1, 1, 1]


def test_an_op_that_only_reads_a_state_does_not_run_for_nobody():
    g = tarsia.Graph()
    x = g.input("x")
    g.gr_plain(g.state(np.zeros(3), "total"))
    g.output(-x)
    assert [step["name"] for step in g.bind(x=np.ones(3)).plan.steps] == ["negative"]


def test_a_graph_with_a_state_within_another_runs_though_nobody_uses_its_output():
    total = np.zeros(2)
    inner = tarsia.Graph()
    inner.output(inner.gr_running(inner.input("x"), inner.state(total, "total")))
    inner.register("ge_counts")
    middle = tarsia.Graph()
    middle.output(middle.ge_counts(middle.input("x")))
    middle.register("ge_counts_too")
    g = tarsia.Graph()
    x = g.input("x")
    g.ge_counts(x)
    g.ge_counts_too(x)
    g.output(-x)
    bound = g.bind(x=np.ones(2))
    for i in range(1, 4):
        bound(x=np.ones(2))
        assert total.tolist() == [2 * i, 2 * i]


def test_a_gradient_that_reads_a_state_which_has_changed_since_is_refused():
    g = tarsia.Graph()
    x, total = g.input("x"), g.state(np.full(3, 2.0), "total")
    y = g.gr_mul(x, total)
    g.output(y)
    g.output(g.gr_running(x, total))
    with pytest.raises(tarsia.ArgumentValueError, match="node 'gr_mul': its backward reads 'total', which node 'gr_running' changes before that"):
        g.gradient(y, wrt=x)


def test_a_copy_of_the_state_gives_the_gradient():
    g = tarsia.Graph()
    x, total = g.input("x"), g.state(np.full(3, 2.0), "total")
    y = g.gr_mul(x, g.identity(total))
    g.output(y)
    g.output(g.gr_running(x, total))
    g.output(g.gradient(y, wrt=x))
    y, u, dx = g(x=np.ones(3))
    assert y.tolist() == [2, 2, 2] and u.tolist() == [3, 3, 3] and dx.tolist() == [2, 2, 2]


def test_a_state_that_changed_before_gives_its_gradient():
    g = tarsia.Graph()
    x, total = g.input("x"), g.state(np.full(3, 2.0), "total")
    g.output(g.gr_running(x, total))
    y = g.gr_mul(x, total)
    g.output(g.gradient(y, wrt=x))
    assert g(x=np.ones(3))[1].tolist() == [3, 3, 3]


def test_a_forward_that_nobody_reads_does_not_run_for_its_gradient():
    g = tarsia.Graph()
    x, seed = g.input("x"), g.input("seed")
    g.output(g.gradient(g.gr_scale(x, factor=3.0), wrt=x, seed=seed))  # its backward reads dy alone
    bound = g.bind(x=np.ones(3), seed=np.ones(3))
    kinds = [step["kind"] for step in bound.plan.steps]
    assert bound(x=np.ones(3), seed=np.full(3, 2.0)).tolist() == [6, 6, 6]
    assert kinds.count("backward") == 1


# ---- with PyTorch

def test_pytorch_trains_a_graph_that_draws_random_numbers():
    torch = pytest.importorskip("torch")
    g = tarsia.Graph()
    g.output(g.gr_square(g.gr_dropout(g.input("x"))))
    layer = tarsia.torch.register(g.register("ge_torch_dropout", differentiable=True))
    for n in (400, 400, 7):
        x = torch.full((n,), 3.0, dtype=torch.float64, requires_grad=True)
        ys = [layer(x) for _ in range(3)]  # each has its own mask
        for y in reversed(ys):
            (dx,) = torch.autograd.grad(y.sum(), x)
            assert torch.equal(dx, torch.where(y > 0, 24.0, 0.0).to(x))
    with torch.no_grad():
        assert set(layer(x).tolist()) <= {0, 36}


def test_pytorch_trains_a_graph_with_a_state():
    torch = pytest.importorskip("torch")
    total = torch.zeros(3, dtype=torch.float64)
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_square(x))
    g.gr_running(x, g.state(total, "total"))
    layer = tarsia.torch.register(g.register("ge_torch_state", differentiable=True))
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    layer(x).sum().backward()
    assert x.grad.tolist() == [2, 2, 2] and total.tolist() == [1, 1, 1]


def test_pytorch_keeps_hidden_outputs_for_backward():
    torch = pytest.importorskip("torch")
    layer = tarsia.torch.register(tarsia.op("gr_dropout"))
    x = torch.full((300,), 2.0, dtype=torch.float64, requires_grad=True)
    ys = [layer(x) for _ in range(100)]
    for y in ys:
        (dx,) = torch.autograd.grad(y.sum(), x)
        assert torch.equal(dx, y.detach() / 2)


def test_a_bound_op_gives_its_hidden_outputs_on_request():
    x = np.full(50, 3.0)
    bound = tarsia.op("gr_dropout").bind(x)
    for y, mask in (bound.with_hidden(x), bound.with_hidden(x=x)):
        assert np.array_equal(y, mask * 3)
        (dx,) = bound.backward([np.ones(50)], [x], [y, mask])
        assert np.array_equal(dx, mask)
    with pytest.raises(tarsia.ArgumentTypeError, match="with_hidden"):
        bound.with_hidden(x, out=x)


# ---- names and copies

def test_attributes_called_name_and_device_are_the_ops():
    @tarsia.define_op(devices="cpu")
    def ge_named(x, y, *, name: str = "d", device: str = "e"):
        y[...] = len(name) * 10 + len(device)

    g = tarsia.Graph()
    g.output(tarsia.ops.ge_named(g.input("x"), name="abc", device="cpu"))
    assert g(x=np.ones(2)).tolist() == tarsia.ops.ge_named(np.ones(2), name="abc", device="cpu").tolist() == [33, 33]
    assert g.nodes == ["x", "ge_named"]


def test_the_op_add_is_called_like_others():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    g.output(g.add(x, w, name="both"))
    assert g.nodes[-1] == "both" and g(x=np.ones(2), w=np.ones(2)).tolist() == [2, 2]


def test_graphs_of_own_ops_can_be_pickled():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(tarsia.ops.tanh(x * 2))
    for other in (copy.deepcopy(g), pickle.loads(pickle.dumps(g))):
        assert np.array_equal(other(x=np.ones(2)), np.tanh(np.full(2, 2.0)))
    assert pickle.loads(pickle.dumps(tarsia.op("tanh"))).name == "tanh"


def test_tensors_of_json_lie_where_the_caller_says():
    g = tarsia.Graph()
    g.output(g.input("x") * g.parameter(np.full(2, 3.0), "w"))
    text = json.loads(g.to_json())
    assert "device" not in text["nodes"][1]
    text["nodes"][1]["device"] = "gpu:7"
    on_cpu = tarsia.Graph.from_json(json.dumps(text), device="cpu")
    assert on_cpu(x=np.ones(2)).tolist() == [3, 3]
    with pytest.raises(tarsia.Error, match="node 'w'"):
        tarsia.Graph.from_json(json.dumps(text))
    text["nodes"][1]["device"] = "tpu"
    with pytest.raises(tarsia.ArgumentValueError, match="node 'w': a device is"):
        tarsia.Graph.from_json(json.dumps(text))


def test_inputs_on_several_devices_are_named():
    g = tarsia.Graph()
    g.output(g.gr_add(g.input("x"), g.input("w")))
    with pytest.raises(tarsia.ArgumentValueError, match=r"several devices: x on cpu, w on gpu:1; put them on one"):
        g.bind(x=((2,), "float32", "cpu"), w=((2,), "float32", "gpu:1"))


def test_a_conversion_of_storage_is_a_warning():
    sparse = pytest.importorskip("scipy.sparse")
    tarsia.load_inline('#include <tarsia/op.h>\nTARSIA_OP(ge_dense).input("x").output("y").forward("cpu", [](tarsia::Context& c) {'
                       ' for (int64_t i = 0; i < c.input(0).numel(); ++i) c.output(0).data<float>()[i] = c.input(0).data<const float>()[i]; });')
    g = tarsia.Graph()
    g.output(g.ge_dense(g.input("x", storage="csr"), name="made"))
    with pytest.warns(tarsia.StorageFallbackWarning, match="node made: input 'x': csr -> dense"):
        assert g(x=sparse.csr_matrix(np.eye(2, dtype=np.float32))) is not None
