"""Ops as operators of PyTorch: schemas, gradients, state."""

import pytest
from torch_support import check, functions_library, nothing_stays, ops_library, schema  # noqa: F401

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")


def test_schemas_follow_from_declarations():
    def of(name):
        return schema(tarsia.torch.register(tarsia.op(name)))

    assert of("t_leaky") == "tarsia::t_leaky(Tensor x, *, float slope=0.25) -> Tensor"
    assert of("t_take") == (
        "tarsia::t_take(Tensor table, Tensor index, Tensor? bias=None, *, float scale=1., bool flip=False, "
        'str mode="plain", SymInt[] sizes=[1, 2], SymInt? limit=None) -> Tensor')
    assert of("t_sum") == "tarsia::t_sum(Tensor[] xs) -> Tensor"
    assert of("t_split") == "tarsia::t_split(Tensor x) -> (Tensor, Tensor)"
    assert of("t_running") == "tarsia::t_running(Tensor x, Tensor(a1!) total) -> Tensor"


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
def test_a_conversion_warns_where_the_operator_is_called():
    @tarsia.define_op
    def t_dense(x, y):
        y[...] = x

    x = torch.eye(3).to_sparse_csr()
    with pytest.warns(tarsia.StorageFallbackWarning, match="op 't_dense', forward: .* converts input 'x': csr -> dense") as told:
        tarsia.torch.register(t_dense)(x)
    assert told[0].filename == __file__


def test_opcheck_passes():
    def register(name, **options):
        return tarsia.torch.register(tarsia.op(name), **options)

    x, table, index = torch.randn(5, requires_grad=True), torch.randn(4, 3, requires_grad=True), torch.tensor([1, 3, 1])
    check(register("t_leaky"), x, kwargs={"slope": 0.5})
    check(register("t_product"), x, x)
    check(register("t_product"), torch.randn(2, 3).double(), torch.randn(2, 3, requires_grad=True).double())
    take = register("t_take")
    check(take, table, index)
    check(take, table, index, torch.randn(3, requires_grad=True), kwargs={"scale": 2.0, "flip": True, "sizes": [3]})
    check(register("t_sum"), [x, torch.randn(5), x.detach().clone().requires_grad_()])
    check(register("t_split"), x)
    check(register("t_running"), torch.randn(3), torch.zeros(3))


@pytest.mark.parametrize("name, arguments", [
    ("t_leaky", lambda: (torch.randn(7),)),
    ("t_product", lambda: (torch.randn(2, 3), torch.randn(2, 3))),
])
def test_gradients_are_those_of_finite_differences(name, arguments):
    operator = tarsia.torch.register(tarsia.op(name))
    arguments = [one.double().requires_grad_() for one in arguments()]
    assert torch.autograd.gradcheck(operator, arguments)


def test_one_tensor_twice():
    product = tarsia.torch.register(tarsia.op("t_product"))
    x = torch.randn(4, requires_grad=True)
    product(x, x).sum().backward()
    assert torch.allclose(x.grad, 2 * x)
    x.grad = None
    y = product(x, x)
    product(y, x).sum().backward()
    assert torch.allclose(x.grad, 3 * x * x)


def test_gradients_that_are_missing():
    split = tarsia.torch.register(tarsia.op("t_split"))
    x = torch.randn(3, requires_grad=True)
    y, z = split(x)
    z.sum().backward()  # nothing flows to y
    assert x.grad.tolist() == [3] * 3
    product = tarsia.torch.register(tarsia.op("t_product"))
    a, b = torch.randn(3), torch.randn(3, requires_grad=True)
    product(a, b).sum().backward()
    assert a.grad is None and torch.equal(b.grad, a)
    take = tarsia.torch.register(tarsia.op("t_take"))
    table, bias = torch.randn(4, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    take(table, torch.tensor([1, 1]), bias, scale=2.0).sum().backward()
    assert table.grad.tolist() == [[0] * 3, [4] * 3, [0] * 3, [0] * 3] and bias.grad.tolist() == [2] * 3
    xs = [torch.randn(2, requires_grad=k != 1) for k in range(3)]
    tarsia.torch.register(tarsia.op("t_sum"))(xs).sum().backward()
    assert xs[0].grad.tolist() == [1, 1] and xs[1].grad is None and xs[2].grad.tolist() == [3, 3]


def test_hidden_outputs_stay_hidden():
    hidden = tarsia.torch.register(tarsia.op("t_hidden"))
    assert schema(hidden) == "tarsia::t_hidden(Tensor x) -> Tensor"
    x = torch.ones(3, requires_grad=True)
    y = hidden(x)
    y.sum().backward()
    assert y.tolist() == [1.5] * 3 and x.grad.tolist() == [1.5] * 3
    check(hidden, x)


def test_gradients_may_have_any_strides():
    leaky = tarsia.torch.register(tarsia.op("t_leaky"))
    x = torch.ones(2, 3, requires_grad=True)
    leaky(x).t().sum().backward()  # an expanded gradient
    assert x.grad.tolist() == [[1] * 3] * 2
    leaky(x.t()).sum().backward()
    assert x.grad.tolist() == [[2] * 3] * 2


def test_a_second_derivative_is_an_error():
    leaky = tarsia.torch.register(tarsia.op("t_leaky"))
    x = torch.randn(3, requires_grad=True)
    (gradient,) = torch.autograd.grad(leaky(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="the gradient of t_leaky has no gradient of its own"):
        gradient.sum().backward()


def test_auxiliary_state():
    running = tarsia.torch.register(tarsia.op("t_running"))
    x, total = torch.ones(2), torch.zeros(2)
    version = total._version
    assert running(x, total).tolist() == [1, 1] and running(x, total).tolist() == [2, 2]
    assert total.tolist() == [2, 2] and total._version == version + 2
    step = torch.compile(lambda x, total: running(running(x, total), total), fullgraph=True, backend="aot_eager")
    assert step(x, total).tolist() == [6, 6] and total.tolist() == [6, 6]


def test_state_goes_on_and_keeps_its_order():
    count = tarsia.torch.register(tarsia.op("t_count"))
    x = torch.zeros(2)
    assert [float(count(x)[0]) for _ in range(3)] == [1, 2, 3]
    assert float(count(x, start=10)[0]) == 11 and float(count(torch.zeros(3))[0]) == 1  # a state of their own
    assert float(count(x)[0]) == 4

    def twice(x):
        count(x)  # not used, and run all the same
        return count(x) - count(x)

    compiled = torch.compile(twice, fullgraph=True, backend="aot_eager")
    assert compiled(x).tolist() == [-1, -1] and float(count(x)[0]) == 8
    check(count, x, tests=("test_schema", "test_faketensor", "test_autograd_registration"))
    y = torch.zeros(2, requires_grad=True)
    n = float(count(y).detach()[0])
    count(y).sum().backward()
    assert y.grad.tolist() == [n + 1] * 2  # the state of the calls
    tarsia.torch.register(tarsia.op("t_count"))
    assert float(count(x)[0]) == 1


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
def test_sparse_tensors_in_eager_mode():
    densify = tarsia.torch.register(tarsia.op("t_densify"))
    x = torch.tensor([[0, 1.0, 0], [2, 0, 3]])
    assert torch.equal(densify(x.to_sparse_csr()), x)


def test_attributes_that_are_fixed():
    take = tarsia.torch.register(tarsia.op("t_take"), "take2", attributes={"scale": 2.0, "sizes": [4]})
    assert schema(take).startswith("tarsia::take2(Tensor table, Tensor index, Tensor? bias=None, *, bool flip=False")
    table = torch.ones(2, 2, requires_grad=True)
    take(table, torch.tensor([0]), flip=True).sum().backward()
    assert table.grad.tolist() == [[-2, -2], [0, 0]]


def test_errors_of_ops_arrive():
    fails = tarsia.torch.register(tarsia.op("t_fails"))
    with pytest.raises(IndexError, match="no such row"):
        fails(torch.ones(1))
    with pytest.raises(tarsia.ArgumentError, match="have to be of one shape and dtype"):
        tarsia.torch.register(tarsia.op("t_product"))(torch.ones(2), torch.ones(3))
