"""The gradient of a graph, made of the ops' backwards."""

import numpy as np
import pytest
from graph_models import Model, graph_error, transformer

import tarsia

F = np.float32


def derivative(function, arrays, name, direction, step=1e-6):
    """The derivative of the sum of a function's result along a direction of one of its arrays."""
    sides = [np.asarray(function(**{**arrays, name: np.asarray(arrays[name] + sign * step * direction)})).sum() for sign in (1, -1)]
    return (sides[0] - sides[1]) / (2 * step)


def check(g, loss, arrays, tolerance=1e-6):
    """Compares the gradients of all inputs with differences of the graph itself."""
    plain = tarsia.Graph.from_json(g.to_json())
    plain.output(plain.value(loss.name))
    bound = plain.bind(**arrays)
    gradients = g.gradient(loss, wrt=[g.value(name) for name in arrays])
    for gradient in gradients:
        g.output(gradient)
    results = g(**arrays)
    results = results if isinstance(results, tuple) else (results,)
    for name, gradient in zip(arrays, results):
        assert gradient.shape == np.shape(arrays[name])
        for seed in range(3):
            direction = np.random.default_rng(seed).standard_normal(np.shape(arrays[name]))
            wanted = derivative(lambda **given: bound(**given), arrays, name, direction)
            assert np.isclose((gradient * direction).sum(), wanted, rtol=tolerance, atol=tolerance), name
    return results


def draw(*shapes, seed=0):
    generator = np.random.default_rng(seed)
    return [np.asarray(generator.uniform(-1, 1, shape)) for shape in shapes]


# ---- against differences

def test_the_gradient_of_a_net_is_that_of_differences():
    g = tarsia.Graph()
    x, w, b, v = (g.input(name) for name in "xwbv")
    hidden = g.gr_tanh(g.gr_add_row(g.gr_matmul(x, w), b))
    loss = g.gr_sum_all(g.gr_square(g.gr_softmax(g.gr_matmul(hidden, v))))
    check(g, loss, dict(zip("xwbv", draw((5, 3), (3, 4), (4,), (4, 2)))))


def test_the_gradient_of_a_convolution_is_that_of_differences():
    for algorithm in ("auto", "plain"):
        g = tarsia.Graph()
        x, w = g.input("x"), g.input("w")
        h = g.gr_tanh(g.gr_conv(g.gr_square(x), w, algorithm=algorithm))
        check(g, g.gr_sum_all(g.gr_conv(h, w, algorithm=algorithm)), dict(zip("xw", draw((11,), (3,)))))


def test_the_gradient_of_a_transformer_is_that_of_differences():
    model = transformer(layers=1, tokens=6, width=4, dtype="float64")
    model.output(model.op("gr_square", model.last))
    wrt = [model.inputs["x"], *(number for number, kind in enumerate(model.kinds) if kind == "parameter")]
    for gradient in model.graph.gradient(model.values[model.outputs[0]], wrt=[model.values[number] for number in wrt]):
        model.graph.output(gradient)
    arrays = model.draw(2)
    _, *gradients = model.bind()(**arrays)
    for number, gradient in zip(wrt, gradients):
        (at,) = model.eager(arrays, [number])
        direction = np.random.default_rng(number).standard_normal(at.shape)
        sides = [model.eager(arrays, None, {number: at + sign * 1e-6 * direction})[0].sum() for sign in (1, -1)]
        assert np.isclose((gradient * direction).sum(), (sides[0] - sides[1]) / 2e-6, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("uses", [1, 2, 3, 5])
def test_a_value_with_several_uses_gets_the_sum_of_their_gradients(uses):
    g = tarsia.Graph()
    x = g.input("x")
    h = g.gr_tanh(x)
    total = g.gr_square(h)
    for i in range(uses - 1):
        total = g.gr_add(total, g.gr_scale(g.gr_square(h) if i % 2 else h, factor=i + 0.5))
    check(g, total, {"x": draw((4, 3))[0]})


@pytest.mark.parametrize("op", ["gr_mul", "gr_add", "gr_sub", "gr_matmul"])
def test_a_value_that_one_op_takes_twice_gets_both_gradients(op):
    for before in ("gr_tanh", None):
        g = tarsia.Graph()
        x = g.input("x")
        h = g.add(before, x) if before else x
        check(g, g.gr_square(g.add(op, h, h)), {"x": draw((3, 3))[0]})


def test_a_value_that_one_op_takes_twice_has_further_uses_too():
    g = tarsia.Graph()
    x = g.input("x")
    h = g.gr_tanh(x)
    loss = g.gr_add(g.gr_mul(g.gr_mul(h, h), h), g.gr_square(g.gr_add(h, g.gr_mul(h, h))))
    check(g, loss, {"x": draw((7,))[0]})


def test_an_op_with_several_outputs_gets_the_gradients_of_all():
    g = tarsia.Graph()
    p, q = g.gr_split(g.gr_tanh(g.input("x")))
    check(g, g.gr_mul(g.gr_square(p), q), {"x": draw((5,))[0]})


@pytest.mark.parametrize("which", [0, 1])
def test_an_output_without_use_counts_as_zeros(which):
    g = tarsia.Graph()
    outputs = g.gr_split(g.gr_tanh(g.input("x")))
    check(g, g.gr_square(outputs[which]), {"x": draw((5,))[0]})


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3), (2, 1, 4), (0,)])
def test_the_loss_has_any_shape(shape):
    g = tarsia.Graph()
    check(g, g.gr_tanh(g.gr_square(g.input("x"))), {"x": draw(shape)[0]})


def test_gradients_in_float32_are_right():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gradient(g.gr_square(g.gr_scale(x, factor=3.0)), wrt=x))
    assert np.allclose(g(x=np.arange(4, dtype=F)), 18 * np.arange(4)) and g(x=np.arange(4, dtype=F)).dtype == F


def test_a_gradient_with_no_gradient_inputs_passes_them_by():
    g = tarsia.Graph()
    table, rows = g.input("table"), g.input("rows")
    y = g.gr_square(g.gr_take(table, rows))
    g.output(g.gradient(y, wrt=table))
    given = draw((4, 3))[0]
    gradient = g(table=given, rows=np.array([2, 2, 0]))
    wanted = np.zeros((4, 3))
    wanted[2], wanted[0] = 4 * given[2], 2 * given[0]
    assert np.allclose(gradient, wanted)


def test_the_gradient_goes_back_through_five_thousand_nodes():
    g = tarsia.Graph()
    x = y = g.input("x")
    for _ in range(5000):
        y = g.gr_neg(y)
    g.output(g.gradient(g.gr_square(y), wrt=x))
    assert g(x=np.arange(3.0)).tolist() == [0, 2, 4]


# ---- with respect to what

def test_a_value_alone_gives_a_value_alone():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_square(x)
    assert not isinstance(g.gradient(y, wrt=x), (list, tuple))
    assert len(g.gradient(y, wrt=[x])) == 1 and len(g.gradient(y, wrt=(x, y))) == 2


def test_a_value_that_the_loss_does_not_depend_on_has_zeros():
    g = tarsia.Graph()
    x, other = g.input("x"), g.input("other")
    aside = g.gr_plain(x)
    for gradient in g.gradient(g.gr_square(x), wrt=[other, x, aside]):
        g.output(gradient)
    zeros, gradient, beside = g(x=np.arange(3.0), other=np.ones((2, 2)))
    assert zeros.shape == (2, 2) and not zeros.any()
    assert gradient.tolist() == [0, 2, 4] and beside.tolist() == [0, 0, 0]


def test_the_gradient_of_a_value_with_respect_to_itself_is_ones():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_square(x)
    for value in g.gradient(y, wrt=[y]) + g.gradient(x, wrt=[x]):
        g.output(value)
    assert [r.tolist() for r in g(x=np.arange(3.0))] == [[1] * 3] * 2


def test_gradients_of_values_in_between_are_had():
    g = tarsia.Graph()
    x = g.input("x")
    h = g.gr_scale(x, factor=2.0)
    y = g.gr_square(g.gr_scale(h, factor=3.0))
    for value in g.gradient(y, wrt=[h, x]):
        g.output(value)
    dh, dx = g(x=np.arange(3.0))
    assert dh.tolist() == [0, 36, 72] and dx.tolist() == [0, 72, 144]


def test_gradients_of_parameters_and_constants_are_had():
    g = tarsia.Graph()
    p, c = g.parameter(np.full(3, 2.0)), g.constant(np.full(3, 5.0))
    y = g.gr_mul(g.gr_mul(g.input("x"), p), c)
    for value in g.gradient(y, wrt=[p, c]):
        g.output(value)
    dp, dc = g(x=np.arange(3.0))
    assert dp.tolist() == [0, 5, 10] and dc.tolist() == [0, 2, 4]


def test_one_value_may_be_asked_for_twice():
    g = tarsia.Graph()
    x = g.input("x")
    for value in g.gradient(g.gr_square(x), wrt=[x, x]):
        g.output(value)
    first, second = g(x=np.arange(3.0))
    assert first.tolist() == second.tolist() == [0, 2, 4]


def test_a_seed_weighs_the_loss():
    g = tarsia.Graph()
    x, weights = g.input("x"), g.input("weights")
    g.output(g.gradient(g.gr_square(x), wrt=x, seed=weights))
    assert g(x=np.arange(3.0), weights=np.array([1.0, 10.0, 100.0])).tolist() == [0, 20, 400]


def test_a_seed_of_another_shape_than_the_loss_is_refused():
    g = tarsia.Graph()
    x, weights = g.input("x"), g.input("weights")
    g.output(g.gradient(g.gr_square(x, name="loss"), wrt=x, seed=weights))
    with pytest.raises(tarsia.Error, match="loss"):
        g.bind(x=((3,), "float64"), weights=((4,), "float64"))


def test_gradients_of_two_losses_live_in_one_graph():
    g = tarsia.Graph()
    x = g.input("x")
    h = g.gr_scale(x, factor=2.0)
    first, second = g.gr_square(h), g.gr_neg(h)
    g.output(first)
    for loss in (first, second):
        g.output(g.gradient(loss, wrt=x))
    assert [r.tolist() for r in g(x=np.arange(3.0))] == [[0, 4, 16], [0, 8, 16], [-2] * 3]


def test_gradients_are_worked_on_by_further_ops():
    g = tarsia.Graph()
    x, p = g.input("x"), g.parameter(np.full(3, 2.0))
    loss = g.gr_square(g.gr_mul(x, p))
    g.output(g.gr_sub(p, g.gr_scale(g.gradient(loss, wrt=p), factor=0.1)), name="p")
    assert np.allclose(g(x=np.arange(3.0)), [2 - 0.1 * 4 * i * i for i in range(3)])


def test_the_gradient_of_a_gradient_is_refused_and_named():
    g = tarsia.Graph()
    x = g.input("x")
    first = g.gradient(g.gr_square(x, name="cube"), wrt=x)
    with pytest.raises(tarsia.Error, match="cube"):
        g.gradient(g.gr_square(first), wrt=x)


def test_a_failed_gradient_leaves_the_graph_as_it_was():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_square(g.gr_tanh(g.gr_no_backward(x)))
    g.output(y)
    nodes = g.nodes
    with pytest.raises(tarsia.Error):
        g.gradient(y, wrt=x)
    assert g.nodes == nodes
    assert g(x=np.zeros(1)).tolist() == [np.tanh(1.0) ** 2]


def test_an_op_without_backward_is_named():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_square(g.gr_no_backward(x, name="dead_end"))
    with pytest.raises(tarsia.Unsupported, match=graph_error("dead_end|gr_no_backward|backward")):
        g.gradient(y, wrt=x)


def test_an_op_without_backward_does_no_harm_beside_the_way():
    g = tarsia.Graph()
    x, other = g.input("x"), g.input("other")
    y = g.gr_mul(x, g.gr_no_backward(other))
    g.output(g.gradient(y, wrt=x))
    assert g(x=np.arange(3.0), other=np.ones(3)).tolist() == [2, 2, 2]


def test_a_state_has_no_gradient():
    g = tarsia.Graph()
    x, s = g.input("x"), g.state(np.zeros(3), name="memory")
    y = g.gr_add(x, s)
    with pytest.raises(tarsia.Error, match="memory"):
        g.gradient(y, wrt=s)


@pytest.mark.parametrize("wrt", [None, "x", [None], 3, [np.ones(3)]])
def test_what_is_no_value_has_no_gradient(wrt):
    g = tarsia.Graph()
    y = g.gr_square(g.input("x"))
    with pytest.raises(tarsia.Error):
        g.gradient(y, wrt=wrt)


def test_nothing_may_be_asked_for():
    g = tarsia.Graph()
    assert list(g.gradient(g.gr_square(g.input("x")), wrt=[])) == []


def test_a_value_that_goes_only_into_inputs_without_gradient_has_zeros():
    g = tarsia.Graph()
    table, rows = g.input("table"), g.input("rows")
    g.output(g.gradient(g.gr_take(table, rows), wrt=rows))
    assert g(table=np.ones((3, 2)), rows=np.array([1, 2])).tolist() == [0, 0]


# ---- random ops with hidden outputs

def test_the_backward_of_a_random_op_uses_what_its_forward_drew():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.gr_dropout(x, keep=0.25)
    g.output(y)
    g.output(g.gradient(y, wrt=x))
    for _ in range(3):
        y, dx = g(x=np.full(400, 3.0))
        assert set(y.tolist()) == {0, 12} and np.array_equal(dx, y / 3)


def test_a_random_op_within_a_graph_as_an_op_uses_what_its_forward_drew():
    g = tarsia.Graph()
    x = g.input("x")
    g.output(g.gr_square(g.gr_dropout(g.gr_scale(x, factor=1.0))))
    g.register("gr_random_within", differentiable=True)
    outer = tarsia.Graph()
    v = outer.input("v")
    y = outer.gr_random_within(v)
    outer.output(y)
    outer.output(outer.gradient(y, wrt=v))
    y, dv = outer(v=np.full(400, 3.0))
    assert set(y.tolist()) == {0, 36} and np.array_equal(dv, np.where(y > 0, 24.0, 0))


def test_a_random_graph_needs_what_its_forward_drew():
    g = tarsia.Graph()
    g.output(g.gr_dropout(g.input("x")))
    op = g.register("gr_random_alone", differentiable=True)
    bound = op.bind(np.ones(8))
    y = bound(np.ones(8))
    with pytest.raises(tarsia.Error, match="hidden|random"):
        bound.backward(np.ones(8), np.ones(8), y)


def test_a_backward_without_what_the_forward_kept_does_not_change_a_state_again():
    total = np.zeros(4)
    g = tarsia.Graph()
    x = g.input("x")
    g.gr_running(x, g.state(total, "total"))
    g.output(g.gr_square(g.gr_scale(x, factor=3.0)))
    bound = g.register("gr_with_a_state", differentiable=True).bind(np.ones(4))
    y = bound(np.ones(4))
    with pytest.raises(tarsia.Error, match="changes states.*hidden"):
        bound.backward(np.ones(4), np.ones(4), y)
    assert total.tolist() == [1, 1, 1, 1]


# ---- graphs as ops

def test_a_graph_with_a_backward_is_an_op_with_a_backward():
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    g.output(g.gr_tanh(g.gr_matmul(g.gr_square(x), w)))
    op = g.register("gr_layer", differentiable=True)
    x, w = draw((4, 3), (3, 2))
    y = op(x, w)
    dy = draw((4, 2), seed=9)[0]
    inner = dy * (1 - y * y)
    wanted = [inner @ w.T * 2 * x, (x * x).T @ inner]
    bound = op.bind(x, w)
    assert bound.has_backward
    for got in (op.backward(dy, [x, w], y), op.backward(dy, [x, w]), bound.backward(dy, [x, w], y), bound.backward([dy], [x, w])):
        assert len(got) == 2
        for one, other in zip(got, wanted):
            assert np.allclose(one, other)


def test_a_graph_without_a_backward_says_so():
    g = tarsia.Graph()
    g.output(g.gr_square(g.input("x")))
    op = g.register("gr_layer_forward_only")
    assert not op.bind(np.ones(3)).has_backward
    with pytest.raises(tarsia.Unsupported, match="backward"):
        op.backward(np.ones(3), np.ones(3))


def test_a_graph_whose_ops_have_no_backward_cannot_be_registered_with_one():
    g = tarsia.Graph()
    g.output(g.gr_square(g.gr_no_backward(g.input("x"), name="dead_end")))
    with pytest.raises(tarsia.Unsupported, match="dead_end"):
        g.register("gr_layer_dead_end", differentiable=True)


def test_gradients_go_through_graphs_within_graphs():
    layer = tarsia.Graph()
    x, w = layer.input("x"), layer.input("w")
    layer.output(layer.gr_tanh(layer.gr_matmul(x, w)))
    layer.register("gr_layer_within", differentiable=True)
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    h = g.gr_layer_within(g.gr_layer_within(x, w), w)
    check(g, g.gr_add(g.gr_square(h), g.gr_layer_within(h, w)), dict(zip("xw", draw((4, 3), (3, 3)))))


def test_gradients_of_a_graph_as_an_op_are_added_where_they_are_asked_for():
    g = tarsia.Graph()
    g.output(g.gr_square(g.input("x")))
    op = g.register("gr_layer_added", differentiable=True)
    x, out = np.arange(4.0), np.full(4, 100.0)
    op.backward(np.ones(4), x, out=out, req="add")
    assert out.tolist() == [100, 102, 104, 106]


def test_results_of_a_graph_with_a_backward_are_the_visible_ones():
    g = tarsia.Graph()
    x = g.input("x")
    p, q = g.gr_split(g.gr_tanh(g.gr_square(x)))
    g.output(g.gr_tanh(p))
    g.output(g.gr_tanh(q))
    op = g.register("gr_layer_two", differentiable=True)
    results = op(np.ones(3))
    assert isinstance(results, tuple) and len(results) == 2
    h = np.tanh(1.0)
    (dx,) = op.backward([np.ones(3), np.zeros(3)], [np.ones(3)])
    assert np.allclose(dx, (1 - np.tanh(h + 1) ** 2) * (1 - h * h) * 2)


def test_an_input_without_gradient_gets_none():
    g = tarsia.Graph()
    table, rows = g.input("table"), g.input("rows")
    g.output(g.gr_square(g.gr_take(table, rows)))
    op = g.register("gr_layer_take", differentiable=True)
    table, rows = np.ones((3, 2)), np.array([1])
    gradient, none = op.backward(np.ones((1, 2)), [table, rows])
    assert gradient.tolist() == [[0, 0], [2, 2], [0, 0]] and none is None


def test_a_graph_with_a_backward_runs_as_without():
    model = Model()
    x = model.input("x", (5,))
    model.output(model.op("gr_tanh", model.op("gr_square", x)))
    arrays = model.draw(1)
    bound = model.graph.register("gr_with_backward", differentiable=True).bind(*arrays.values())
    assert bound(*arrays.values()).tobytes() == model.eager(arrays)[0].tobytes()


def test_pytorch_runs_a_graph_as_one_op_with_autograd():
    torch = pytest.importorskip("torch")
    g = tarsia.Graph()
    x, w = g.input("x"), g.input("w")
    p, q = g.gr_split(g.gr_tanh(g.gr_matmul(g.gr_square(x), w)))
    g.output(g.gr_mul(p, q))
    g.output(g.gr_square(q))
    layer = tarsia.torch.register(g.register("gr_torch_layer", differentiable=True))
    generator = torch.Generator().manual_seed(3)
    x, w = (torch.randn(*shape, dtype=torch.float64, generator=generator, requires_grad=True) for shape in ((4, 3), (3, 2)))
    assert torch.autograd.gradcheck(layer, (x, w))
    h = torch.tanh((x * x) @ w)
    wanted = ((h + 1) * (h * 2), (h * 2) ** 2)
    results = layer(x, w)
    for result, expected in zip(results, wanted):
        assert torch.allclose(result, expected)
    gradients = torch.autograd.grad(results[0].sum() + results[1].sum(), (x, w))
    for gradient, expected in zip(gradients, torch.autograd.grad(wanted[0].sum() + wanted[1].sum(), (x, w))):
        assert torch.allclose(gradient, expected)
    frozen = w.detach()
    layer(x, frozen)[1].sum().backward()  # one input alone needs a gradient, and one output alone has one
    assert torch.allclose(x.grad, torch.autograd.grad((((torch.tanh((x * x) @ frozen)) * 2) ** 2).sum(), x)[0])
    assert torch.allclose(torch.compile(layer, backend="eager")(x, w)[0], wanted[0])
