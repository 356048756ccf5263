"""How gradients of operators are reached: straight in eager mode, through their operator wherever somebody listens."""


import pytest
from threads import at_once
from torch_support import nothing_stays, ops_library  # noqa: F401

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
        name = operator.default.name().split(".")[0]  # another test may have defined it before: default.version2
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

    def work(seed):
        for _ in range(200):
            x = torch.full((5,), float(seed), requires_grad=True)
            (leaky(x) * pair(x)).sum().backward()
            assert x.grad[0] == seed

    at_once(work, range(1, 5))


WITHOUT = r"""
#include <tarsia/op.h>
#include <tuple>
#include <vector>
tarsia::Tensor n_copy(const tarsia::Tensor& x) {
  tarsia::Tensor y = tarsia::empty_like(x);
  for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = x.data<const float>()[i];
  return y;
}
std::tuple<int, std::vector<tarsia::Tensor>, tarsia::Tensor> n_mixed(const tarsia::Tensor& x) { return {3, {n_copy(x)}, n_copy(x)}; }
std::vector<tarsia::Tensor> n_list(const tarsia::Tensor& x) { return {n_copy(x), n_copy(x)}; }
void n_into(const float* x, float* y, long n) { for (long i = 0; i < n; i++) y[i] = x[i]; }
void n_both(const float* x, std::vector<tarsia::Tensor> ys) { for (auto& y : ys) y.data<float>()[0] = x[0]; }
void n_count(const float* x, long* positive, long n) { for (long i = 0; i < n; i++) *positive += x[i] > 0; }
tarsia::Tensor n_added(const float* x, float* sum, const tarsia::Tensor& like) { *sum += *x; return n_copy(like); }
static void copy(tarsia::Context& c) {
  for (long i = 0; i < c.input(0).numel(); i++) c.output(0).data<float>()[i] = c.input(0).data<float>()[i];
}
TARSIA_OP(n_op).input("x").output("y").forward("cpu", copy);
TARSIA_OP(n_constant).input("x").no_gradient().output("y").forward("cpu", copy);
TARSIA_OP(n_counts).input("x").mutable_input("y").output("z").forward("cpu", copy);
"""


@pytest.fixture(scope="module")
def without():
    library = tarsia.load_inline(WITHOUT)
    yield library
    library.unload()


def test_what_has_no_gradient_says_so_where_one_is_wanted(without):
    operators = tarsia.torch.register(without)
    scale = tarsia.torch.register(tarsia.elementwise("T x, float a", "T y", "y = a * x", "n_scale"))
    x = torch.ones(3, requires_grad=True)
    for name, value in {
        "n_copy": operators["n_copy"](x),
        "n_mixed": operators["n_mixed"](x)[1][0] + operators["n_mixed"](x)[2],
        "n_list": operators["n_list"](x)[1],
        "n_op": operators["n_op"](x),
        "n_scale": scale(x, 2.0),
    }.items():
        for total in (value.sum(), (value + x).sum()):
            with pytest.raises(RuntimeError, match=rf"{name} .*has no gradient.*detach\(\)"):
                total.backward(retain_graph=True)
    assert x.grad is None
    assert operators["n_mixed"](x)[0] == 3 and isinstance(operators["n_list"](x), list)
    assert not scale(x.detach(), 2.0).requires_grad
    (operators["n_constant"](x) + x).sum().backward()  # there is none to be had
    assert x.grad.tolist() == [1] * 3
    with torch.no_grad():
        assert not operators["n_op"](x).requires_grad


def test_what_is_written_to_follows_from_what_was_read(without):
    operators = tarsia.torch.register(without)
    into, x = operators["n_into"], torch.ones(3, requires_grad=True)
    rows, lone = torch.zeros(2, 3), torch.zeros(3)
    into(x, rows[1], 3)
    operators["n_both"](x, [lone])
    total = torch.zeros(1)
    made = operators["n_added"](x, total, x)
    counted = operators["n_counts"](x, torch.zeros(3))
    for name, value in (("n_into", rows), ("n_both", lone), ("n_added", total), ("n_added", made), ("n_counts", counted)):
        with pytest.raises(RuntimeError, match=f"{name} .*has no gradient"):
            value.sum().backward()
    assert rows.tolist() == [[0] * 3, [1] * 3] and total.item() == 1
    positive = torch.zeros(1, dtype=torch.int64)
    operators["n_count"](x, positive, 3)
    assert positive.item() == 3 and not positive.requires_grad
    with pytest.raises(RuntimeError, match=r"tarsia::n_into writes to a leaf that requires a gradient: call it under torch.no_grad\(\)"):
        into(lone.detach(), x, 3)
    with torch.no_grad():
        into(torch.full((3,), 2.0), x, 3)
    assert x.tolist() == [2] * 3


def test_compiled_graphs_without_a_gradient_say_so_too(without):
    operators = tarsia.torch.register(without)

    def model(x):
        y = torch.zeros(3)
        operators["n_into"](x, y, 3)
        return y + operators["n_op"](x)

    def statistics(x):
        y = torch.zeros(3)
        operators["n_into"](x, y, 3)
        return (2 * x).sum(), y.detach() + operators["n_op"](x.detach())

    x = torch.ones(3, requires_grad=True)
    with pytest.raises(Exception, match="n_(into|op) .*has no gradient"):
        torch.compile(model, fullgraph=True, backend="aot_eager")(x).sum().backward()
    assert torch.compile(model, fullgraph=True, backend="aot_eager")(x.detach()).tolist() == [2] * 3
    value, seen = torch.compile(statistics, fullgraph=True, backend="aot_eager")(x)
    value.backward()
    assert x.grad.tolist() == [2] * 3 and seen.tolist() == [2] * 3
