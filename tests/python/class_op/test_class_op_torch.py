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
        with pytest.raises(tarsia.OpError, match="Gate.*output 'mask'"):
            y.backward()


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
