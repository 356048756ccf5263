"""Gradients of class operators in PyTorch are those of their own forward's hidden outputs, or errors."""

import pathlib

import pytest

import tarsia

torch = pytest.importorskip("torch")
from torch.multiprocessing.reductions import StorageWeakRef  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

SRC = pathlib.Path(__file__).parent / "src"


@pytest.fixture(scope="module")
def gate():
    lib = tarsia.load_inline({"gate.cc": (SRC / "gate.cc").read_text()})
    yield tarsia.torch.register(tarsia.op("Gate"), name="class_op::gate")
    tarsia.torch.unregister("class_op::gate")
    lib.unload()


@pytest.fixture(scope="module")
def shrink():
    lib = tarsia.load_inline({"shrink.cc": (SRC / "shrink.cc").read_text()},
                             headers={"shrink-inl.h": (SRC / "shrink-inl.h").read_text()})
    yield tarsia.torch.register(tarsia.op("Shrink"), name="class_op::shrink")
    tarsia.torch.unregister("class_op::shrink")
    lib.unload()


def leaf(seed, shape=(4, 3)):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), requires_grad=True)


def test_each_forward_has_its_own(gate):
    leaves = [leaf(i) for i in range(5)]
    outputs = [gate(x) for x in leaves]
    for x, y in reversed(list(zip(leaves, outputs))):
        y.sum().backward()
        torch.testing.assert_close(x.grad, (x > 0.5).float())


def test_an_input_that_is_not_contiguous(gate):
    x = leaf(0, (3, 4))
    gate(x.t()).sum().backward()
    torch.testing.assert_close(x.grad, (x > 0.5).float())


def test_an_input_that_no_gradient_comes_through_again(gate):
    x = leaf(1)
    twice = gate(gate(x) * 2, bounds=[1.5])
    twice.sum().backward()
    torch.testing.assert_close(x.grad, 2 * (x > 0.75).float())


def test_a_hook_that_copies_what_is_saved_takes_no_other_forward(gate):
    for _ in range(20):
        x = leaf(2)
        with torch.autograd.graph.saved_tensors_hooks(lambda one: one.detach().clone(), lambda kept: kept.clone()):
            y = gate(x).sum()
        for i in range(4):  # their tensors get the memory of those that are copied now
            gate(leaf(3 + i))
        y.backward()
        torch.testing.assert_close(x.grad, (x > 0.5).float())


def test_what_is_computed_again_has_its_own(gate):
    x = leaf(5)
    for _ in range(2):
        x.grad = None
        checkpoint(lambda x: gate(gate(x) * 2, bounds=[1.5]).sin(), x, use_reentrant=False).sum().backward()
        kept = x.detach() > 0.75
        torch.testing.assert_close(x.grad, torch.where(kept, 2 * torch.cos(2 * x.detach()), 0.0))


def test_what_lives_is_known_after_many_forwards(gate):
    """Results of earlier forwards are let go, and those that live are still known."""
    x = leaf(6)
    first = gate(x, bounds=[0.25])
    for _ in range(600):
        gate(x)
    first.sum().backward()
    torch.testing.assert_close(x.grad, (x > 0.25).float())


def test_any_number_of_forwards_precede_the_backward(gate):
    leaves = [leaf(i) for i in range(150)]
    total = sum(gate(x).sum() for x in leaves)
    total.backward()
    for x in leaves:
        torch.testing.assert_close(x.grad, (x > 0.5).float())


def test_what_backward_does_not_declare_is_not_kept(shrink):
    x = leaf(7)
    y = shrink(x)
    memory, total = StorageWeakRef(y.untyped_storage()), y.sum()
    del y
    assert memory.expired()
    total.backward()
    torch.testing.assert_close(x.grad, (x.detach().abs() > 0.5).float())


def test_a_hook_that_leaves_memory_alone(gate):
    x = leaf(4)
    with torch.autograd.graph.saved_tensors_hooks(lambda one: one, lambda one: one):
        y = gate(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, (x > 0.5).float())


@pytest.fixture(scope="module")
def center():
    lib = tarsia.load_inline({"center.cc": (SRC / "center.cc").read_text()})
    yield tarsia.torch.register(tarsia.op("Center"), name="class_op::center", attributes={"with_bias": True, "honest": 1, "noisy": False})
    tarsia.torch.unregister("class_op::center")
    lib.unload()


@pytest.fixture(scope="module")
def rectify():
    lib = tarsia.load_inline({"rectify.cc": (SRC / "rectify.cc").read_text()})
    yield tarsia.torch.register(tarsia.op("Rectify"), name="class_op::rectify", attributes={"act_type": "prelu"})
    tarsia.torch.unregister("class_op::rectify")
    lib.unload()


def test_inputs_that_fixed_parameters_bring_have_their_names(rectify, center):
    assert str(rectify.default._schema).startswith("class_op::rectify(Tensor data, Tensor gamma, *")
    assert "(Tensor data, Tensor bias, Tensor(a2!) seen, *" in str(center.default._schema)
    x, gamma = leaf(11), torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
    torch.testing.assert_close(rectify(gamma=gamma, data=x), torch.where(x > 0, x, x * gamma))
    rectify(x, gamma=gamma).sum().backward()
    torch.testing.assert_close(gamma.grad, x.detach().clamp(max=0).sum(0))
    torch.library.opcheck(rectify.default, (x, gamma))


def test_an_op_with_auxiliary_states_has_a_gradient(center):
    x, bias, seen = leaf(8), torch.zeros(3, requires_grad=True), torch.zeros(1)
    version = seen._version
    first, second = center(x, bias, seen), center(2 * x, bias, seen)  # both write to the state that backward gets
    assert seen.item() == 2 and seen._version > version
    weights = torch.linspace(0, 1, 12).view(4, 3)
    ((first + second) * weights).sum().backward()
    torch.testing.assert_close(x.grad, 3 * (weights - weights.mean(0)))
    torch.testing.assert_close(bias.grad, 2 * weights.sum(0))


def test_a_state_that_is_not_contiguous_or_wants_a_gradient_is_an_error(center):
    x, bias = leaf(9), torch.zeros(3)
    with pytest.raises(RuntimeError, match="writes to its argument 'seen', which requires a gradient.*detach"):
        center(x, bias, torch.zeros(1, requires_grad=True))
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        (dx,) = torch.autograd.grad(center(x * 1, bias, torch.zeros(1)).pow(2).sum(), x, create_graph=True)
        dx.sum().backward()


def test_auxiliary_states_in_compiled_graphs(center):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bias = torch.nn.Parameter(torch.ones(3))
            self.register_buffer("seen", torch.zeros(1))

        def forward(self, x):
            return center(center(x, self.bias, self.seen) * 2, self.bias, self.seen).sin()

    x, model = leaf(10), Model()
    expected = [one.detach().clone() for one in (model(x), *torch.autograd.grad(model(x).sum(), [x, model.bias]))]
    assert model.seen.item() == 4
    for backend in ("aot_eager", "inductor"):
        torch._dynamo.reset()
        compiled = torch.compile(model, backend=backend, fullgraph=True)
        y = compiled(x)
        assert model.seen.item() == 6
        torch.testing.assert_close(y, expected[0])
        for one, other in zip(torch.autograd.grad(y.sum(), [x, model.bias]), expected[1:]):
            torch.testing.assert_close(one, other)
        model.seen.fill_(4)


def test_opcheck_of_an_op_with_auxiliary_states(center):
    torch.library.opcheck(center.default, (leaf(12), torch.zeros(3, requires_grad=True), torch.zeros(1)))
