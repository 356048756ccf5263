"""Gradients of expressions: another expression, or a function of Python."""

import pytest
from torch_support import check, nothing_stays, schema  # noqa: F401

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")
import tarsia.torch  # noqa: E402

register = tarsia.torch.register
AXPY = tarsia.elementwise("T x, T y, double a", "T z", "z = a * x * y", "g_axpy")
AXPY_BACKWARD = tarsia.elementwise("T dz, T x, T y, double a", "T dx, T dy", "dx = dz * a * y; dy = dz * a * x", "g_axpy_back")
SIGMOID = tarsia.elementwise("T x", "T y", "y = 1 / (1 + exp(-x))", "g_sigmoid")
SIGMOID_BACKWARD = tarsia.elementwise("T dy, T y", "T dx", "dx = dy * y * (1 - y)", "g_sigmoid_back")
PARTS = tarsia.elementwise("T x, int64 k", "T s, T c", "s = sin(x) * k; c = cos(x)", "g_parts")
NORM = tarsia.reduction("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "g_norm")
NORM_BACKWARD = tarsia.elementwise("T x, T y, T dy", "T dx", "dx = dy * x / y", "g_norm_back")
DOT = tarsia.reduction("T x, T y", "T z", "x * y", "a + b", None, "0", "g_dot")
SUM = tarsia.reduction("T x, T y", "T z", "x + y", "a + b", None, "0", "g_sum")


def leaf(*shape):
    return torch.randn(shape, dtype=torch.float64, requires_grad=True)


def test_an_expression_is_the_gradient_and_what_was_broadcast_is_summed():
    axpy = register(AXPY, backward=AXPY_BACKWARD)
    assert schema(axpy) == "tarsia::g_axpy(Tensor x, Tensor y, float a) -> Tensor"
    assert schema(torch.ops.tarsia.g_axpy_backward) == (
        "tarsia::g_axpy_backward(Tensor dz, Tensor x, Tensor y, float a) -> (Tensor, Tensor)")
    for shapes in (((3, 4), (3, 4)), ((3, 1), (4,)), ((), (2, 3)), ((2, 1, 3), (1, 4, 1)), ((0, 3), (3,))):
        assert torch.autograd.gradcheck(lambda x, y: axpy(x, y, 3.0), [leaf(*shape) for shape in shapes])
    x, y = leaf(3), leaf(3)
    axpy(x, y.detach(), 2.0).sum().backward()
    assert torch.equal(x.grad, 2 * y.detach()) and y.grad is None
    x.grad = None
    (axpy(x.t(), x, 1.0) + axpy(x, y, 1.0)).sum().backward()
    assert torch.allclose(x.grad, 2 * x.detach() + y.detach())


def test_outputs_may_be_read_and_twice_is_an_error():
    sigmoid = register(SIGMOID, backward=SIGMOID_BACKWARD)
    assert torch.autograd.gradcheck(sigmoid, [leaf(5)])
    x = leaf(3)
    (gradient,) = torch.autograd.grad(sigmoid(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="the gradient of g_sigmoid has no gradient of its own"):
        gradient.sum().backward()
    half = torch.randn(4, dtype=torch.float16, requires_grad=True)
    sigmoid(half).sum().backward()
    assert half.grad.dtype == torch.float16


def test_a_function_is_the_gradient():
    parts = register(PARTS, backward=lambda ds, dc, x, k: (ds * torch.cos(x) * k - dc * torch.sin(x)))
    assert torch.autograd.gradcheck(lambda x: parts(x, 2), [leaf(4)])
    x = leaf(3)
    (gradient,) = torch.autograd.grad(parts(x, 2)[1].sum(), x, create_graph=True)
    gradient.sum().backward()  # of operators that are differentiable
    assert torch.allclose(x.grad, -torch.cos(x.detach()))


@pytest.mark.parametrize("options", [{}, {"axis": 0}, {"axis": -1}, {"axis": (0, 2)}, {"axis": (2, 0), "keepdims": True},
                                     {"axis": []}, {"keepdims": True}])
def test_reductions_get_their_dimensions_back(options):
    norm = register(NORM, backward=NORM_BACKWARD)
    dot = register(DOT, backward=tarsia.elementwise("T dz, T x, T y", "T dx, T dy", "dx = dz * y; dy = dz * x", "g_dot_back"))
    total = register(SUM, backward=tarsia.elementwise("T dz", "T dx, T dy", "dx = dz; dy = dz", "g_sum_back"))
    assert torch.autograd.gradcheck(lambda x: norm(x, **options), [leaf(2, 3, 4)])
    for operator in (dot, total):
        for shapes in (((2, 3, 4), (4,)), ((2, 1, 1), (1, 3, 4)), ((2, 1, 1), (2, 3, 1))):
            assert torch.autograd.gradcheck(lambda x, y: operator(x, y, **options), [leaf(*shape) for shape in shapes])


def test_a_function_may_have_summed_by_itself():
    mine = register(AXPY, "g_mine", backward=lambda dz, x, y, a: ((a * dz * y).sum_to_size(x.shape), a * dz * x))
    assert torch.autograd.gradcheck(lambda x, y: mine(x, y, 3.0), [leaf(3, 1), leaf(4)])


def test_tables_that_are_indexed():
    take = tarsia.elementwise("raw T table, int64 index", "T z", "z = table[index]", "g_take")

    def back(dz, table, index):
        return torch.zeros_like(table).index_add(0, index, dz)

    operator = register(take, backward=back, gradients="table", numbers=())
    assert torch.autograd.gradcheck(lambda table: operator(table, torch.tensor([1, 0, 1])), [leaf(3)])


def test_compiled_graphs_and_checks():
    axpy, norm = register(AXPY, backward=AXPY_BACKWARD), register(NORM, backward=NORM_BACKWARD)
    check(axpy, leaf(3, 1), leaf(4), 2.0)
    check(norm, leaf(2, 3), kwargs={"axis": 1})

    def loss(x, y):
        return (axpy(x, y, 2.0) / norm(x, axis=-1, keepdims=True)).sum()

    compiled = torch.compile(loss, fullgraph=True, backend="aot_eager", dynamic=True)
    for n in (3, 5):
        x, y = leaf(2, n), leaf(n)
        expected = torch.autograd.grad(loss(x, y), (x, y))
        for a, b in zip(torch.autograd.grad(compiled(x, y), (x, y)), expected):
            assert torch.allclose(a, b)
    x, y = torch.randn(2, 3), torch.randn(3)
    assert torch.allclose(torch.func.grad(loss)(x, y), torch.autograd.grad(loss(x.requires_grad_(), y), x)[0])


def test_what_does_not_fit_is_told():
    into = tarsia.elementwise("T x", "inout T y", "y += x", "g_into")
    for expression, options, message in [
        (SIGMOID, {"backward": AXPY_BACKWARD}, "nothing is known of its input 'y'|nothing is known of its input 'a'|gives 2 gradients"),
        (AXPY, {"backward": SIGMOID_BACKWARD}, r"g_sigmoid_back gives 1 gradients, for 2 inputs \(x, y\): name those"),
        (SIGMOID, {"backward": tarsia.elementwise("T x", "T dx", "dx = x", "g_no")}, "g_no takes no gradient of an output"),
        (SIGMOID, {"backward": 3}, "backward is an expression or a function, not int"),
        (SIGMOID, {"gradients": "x"}, "pass backward="),
        (into, {"backward": SIGMOID_BACKWARD}, "g_into writes to what it is given"),
    ]:
        with pytest.raises(TypeError, match=message):
            register(expression, **options)
    with pytest.raises(ValueError, match="gradients names 'a'; the inputs of g_axpy that can have one are x, y"):
        register(AXPY, backward=AXPY_BACKWARD, gradients=("x", "a"))
    with pytest.raises(TypeError, match="backward is of an expression"):
        register(tarsia.load_inline("int g_one() { return 1; }").g_one, backward=SIGMOID)
    wrong = register(SIGMOID, "g_wrong", backward=lambda dy: (dy, dy))
    with pytest.raises(TypeError, match="gives 1 gradients, not 2"):
        wrong(leaf(2)).sum().backward()
