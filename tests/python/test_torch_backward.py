"""How gradients of operators are reached: straight in eager mode, through their operator wherever somebody listens."""

import threading

import pytest
from torch_support import nothing_stays, op_library  # noqa: F401

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

PAIR = r"""
#include <tarsia/op.h>
tarsia::Tensor half(const tarsia::Tensor& x) {
  tarsia::Tensor y = tarsia::empty_like(x);
  for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = x.data<const float>()[i] / 2;
  return y;
}
void half_backward(const float* dy, float* dx, const tarsia::Tensor& x) {
  for (long i = 0; i < x.numel(); i++) dx[i] = dy[i] / 2;
}
"""


class Listener(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.heard = []

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.heard.append(operator.name().split(".")[0])
        return operator(*args, **(kwargs or {}))


def operators():
    half = tarsia.load_inline(PAIR)
    pair = tarsia.torch.function(half.half, half.half_backward, "t_half", outputs=torch.empty_like)
    return tarsia.torch.register(tarsia.op("t_leaky")), pair


def test_eager_gradients_are_called_straight_and_others_are_heard():
    for operator in operators():
        name = operator.default.name()
        x = torch.randn(3, requires_grad=True)
        with torch.autograd.profiler.profile(use_kineto=False) as profile:
            operator(x).sum().backward()
        keys = [one.key for one in profile.key_averages()]
        assert name in keys and f"{name}_backward" not in keys
        expected = x.grad.clone()
        with Listener() as listener:
            x.grad = None
            operator(x).sum().backward()
        assert name in listener.heard and f"{name}_backward" in listener.heard
        assert torch.equal(x.grad, expected)


def test_wanted_gradients_alone_are_computed():
    take = tarsia.torch.register(tarsia.op("t_take"))
    index = torch.tensor([1, 0])
    table, bias = torch.randn(2, 3), torch.randn(3)
    for wants_table, wants_bias in ((True, False), (False, True), (True, True), (True, False)):
        leaves = [table.clone().requires_grad_(wants_table), bias.clone().requires_grad_(wants_bias)]
        for _ in range(2):
            take(leaves[0], index, leaves[1], scale=3.0).sum().backward()
        assert leaves[0].grad is None if not wants_table else leaves[0].grad.tolist() == [[6] * 3] * 2
        assert leaves[1].grad is None if not wants_bias else leaves[1].grad.tolist() == [4] * 3
    lone = table.clone().requires_grad_()
    take(lone, index).sum().backward()  # without the optional input
    assert lone.grad.tolist() == [[1] * 3] * 2


def test_gradients_may_be_sparse_in_memory_or_conjugated_views():
    leaky, _ = operators()
    x = torch.ones(2, 3, requires_grad=True)
    leaky(x).backward(torch.ones(1).expand(2, 3))
    assert x.grad.tolist() == [[1] * 3] * 2
    x.grad = None
    leaky(x).backward(torch._neg_view(torch.ones(2, 3)))
    assert x.grad.tolist() == [[-1] * 3] * 2


def test_compiled_autograd():
    for operator in operators():
        x = torch.randn(4, requires_grad=True)
        operator(x).sum().backward()
        expected, x.grad = x.grad, None
        with torch._dynamo.compiled_autograd._enable(torch.compile(backend="aot_eager", fullgraph=True)):
            operator(x).sum().backward()
        assert torch.equal(x.grad, expected)


def test_threads_that_differentiate_at_once():
    leaky, pair = operators()
    failures = []

    def work(seed):
        for k in range(200):
            x = torch.full((5,), float(seed), requires_grad=True)
            (leaky(x) * pair(x)).sum().backward()
            if x.grad[0] != seed:
                failures.append((seed, k, x.grad))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
