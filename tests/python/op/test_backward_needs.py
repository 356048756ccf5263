"""What a backward needs of the output gradients, the inputs and the outputs: the rest is absent there, and nobody keeps it."""

import gc
import weakref

import numpy as np
import pytest
import torch

import tarsia
from tarsia.testing import check

SOURCE = r"""
#include <tarsia/op.h>
#include <cmath>

using tarsia::Context;
static bool is_absent(const tarsia::Tensor& x) { return !x; }

// tanh: dx = dy (1 - y²). It throws if it gets x.
static void tanh_forward(Context& c) {
  const auto x = c.input(0);
  for (int64_t i = 0; i < x.numel(); ++i) c.output(0).data<float>()[i] = std::tanh(x.data<const float>()[i]);
}
static void tanh_backward(Context& c) {
  if (!is_absent(c.forward_input(0))) throw tarsia::ValueError("got x");
  const float *dy = c.out_grad(0).data<const float>(), *y = c.forward_output(0).data<const float>();
  for (int64_t i = 0; i < c.in_grad(0).numel(); ++i) c.in_grad(0).data<float>()[i] = dy[i] * (1 - y[i] * y[i]);
}
TARSIA_OP(need_tanh).input("x").output("y").forward("cpu", tanh_forward).backward("cpu", tanh_backward).backward_needs({"dy", "y"});

// square: dx = 2 x dy. It throws if it gets y.
static void square_forward(Context& c) {
  const auto x = c.input(0);
  for (int64_t i = 0; i < x.numel(); ++i) c.output(0).data<float>()[i] = x.data<const float>()[i] * x.data<const float>()[i];
}
static void square_backward(Context& c) {
  if (!is_absent(c.forward_output(0))) throw tarsia::ValueError("got y");
  const float *dy = c.out_grad(0).data<const float>(), *x = c.forward_input(0).data<const float>();
  for (int64_t i = 0; i < c.in_grad(0).numel(); ++i) c.in_grad(0).data<float>()[i] = dy[i] * 2 * x[i];
}
TARSIA_OP(need_square).input("x").output("y").backward_needs({"dy", "x"}).forward("cpu", square_forward).backward("cpu", square_backward);

// Adds b, of which nothing is needed but the shape.
static void shift_forward(Context& c) {
  for (int64_t i = 0; i < c.input(0).numel(); ++i)
    c.output(0).data<float>()[i] = c.input(0).data<const float>()[i] + c.input(1).data<const float>()[i];
}
static void shift_backward(Context& c) {
  for (int k = 0; k < 2; ++k) {
    if (!is_absent(c.forward_input(k)) || !is_absent(c.forward_output(0))) throw tarsia::ValueError("got more than dy");
    for (int64_t i = 0; i < c.in_grad(k).numel(); ++i) c.in_grad(k).data<float>()[i] = c.out_grad(0).data<const float>()[i];
  }
}
TARSIA_OP(need_shift).input("a").input("b").output("y").forward("cpu", shift_forward).backward("cpu", shift_backward).backward_needs({"dy"});

// Of two kinds: scaled, it needs x; else nothing but dy.
static void either_forward(Context& c) {
  const bool scaled = c.attribute<bool>("scaled");
  for (int64_t i = 0; i < c.input(0).numel(); ++i) {
    const float x = c.input(0).data<const float>()[i];
    c.output(0).data<float>()[i] = scaled ? x * x : x;
  }
}
static void either_backward(Context& c) {
  const bool scaled = c.attribute<bool>("scaled");
  if (is_absent(c.forward_input(0)) == scaled) throw tarsia::ValueError("x is there where it is not needed, or not where it is");
  for (int64_t i = 0; i < c.in_grad(0).numel(); ++i)
    c.in_grad(0).data<float>()[i] = c.out_grad(0).data<const float>()[i] * (scaled ? 2 * c.forward_input(0).data<const float>()[i] : 1);
}
static void needs(const tarsia::BindInfo& info, unsigned char* needs) {
  needs[1] = info.attribute<bool>("scaled");
  needs[2] = 0;
}
TARSIA_OP(need_either).input("x").output("y").attribute<bool>("scaled", false)
    .forward("cpu", either_forward).backward("cpu", either_backward).backward_needs(needs);

// Reads what it said that it does without.
static void liar_backward(Context& c) { c.in_grad(0).data<float>()[0] = c.forward_input(0).data<const float>()[0]; }
TARSIA_OP(need_liar).input("x").output("y").forward("cpu", tanh_forward).backward("cpu", liar_backward).backward_needs({"dy"});
"""


@pytest.fixture(scope="module", autouse=True)
def lib():
    return tarsia.load_inline(SOURCE)


def test_backward_gets_what_it_needs_and_nothing_else():
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    y = tarsia.ops.need_tanh(x)
    bound = tarsia.op("need_tanh").bind(x)
    assert bound.backward_needs == (True, False, True)
    expected = 1 - y * y
    dy = np.ones_like(x)
    assert np.allclose(bound.backward([dy], [x], [y])[0], expected)  # what is too much is taken away
    assert np.allclose(bound.backward([dy], [None], [y])[0], expected)
    assert tarsia.op("need_liar").bind(x).backward_needs == (True, False, False)
    with pytest.raises(ValueError, match="backward_needs"):
        tarsia.op("need_liar").bind(x).backward([dy], [x], [y])


def test_an_op_that_says_nothing_needs_all():
    lib = tarsia.load_inline(SOURCE.replace("need_", "all_").replace('.backward_needs({"dy", "x"})', ""))
    x = np.ones(3, np.float32)
    assert tarsia.op("all_square").bind(x).backward_needs == ()
    with pytest.raises(ValueError, match="got y"):
        tarsia.op("all_square").backward([x], [x], [x])
    lib.unload()


@pytest.mark.parametrize(("name", "attributes"), [("need_tanh", {}), ("need_square", {}), ("need_shift", {}), ("need_either", {}),
                                                   ("need_either", {"scaled": True})])
def test_checks_pass(name, attributes):
    check(name, attributes=attributes)


def test_a_function_tells_what_attributes_decide():
    x = np.array([3.0], np.float32)
    op = tarsia.op("need_either")
    assert op.bind(x).backward_needs == (True, False, False)
    assert op.bind(x, scaled=True).backward_needs == (True, True, False)
    assert op.backward([x], [x], scaled=True)[0] == 18


@pytest.mark.parametrize(("ports", "name", "message"), [
    ('.input("a").output("y")', "dz", "with 'dz', and its backward takes dy, a, y: the gradient of an output has its name behind a d"),
    ('.input("a").output("y")', "x", "with 'x', and its backward takes"),
    ('.input("dy").output("y")', "dy", "with 'dy', which is a port and the gradient of one: give the port another name")])
def test_names_that_say_nothing_are_refused(ports, name, message):
    with pytest.raises(tarsia.LoadError, match=message):
        tarsia.load_inline(f"""#include <tarsia/op.h>
            static void f(tarsia::Context&) {{}}
            TARSIA_OP(needy){ports}.forward("cpu", f).backward("cpu", f).backward_needs({{"{name}"}});""")


def test_needs_are_said_once_and_by_the_op_itself():
    head = "#include <tarsia/op.h>\nstatic void f(tarsia::Context&) {}\n"
    with pytest.raises(tarsia.LoadError, match=r"has two .backward_needs"):
        tarsia.load_inline(head + 'TARSIA_OP(needy).forward("cpu", f).backward_needs({"x"}).backward_needs({"y"});')
    with pytest.raises(tarsia.LoadError, match=r"has .backward_needs\(…\), which is for the op's own declaration"):
        tarsia.load_inline(head + 'TARSIA_IMPLEMENTATION(need_tanh).backward("cpu", f).named("more").backward_needs({"x"});')


def saved_bytes(call):
    """How much autograd keeps: the memory of all that is saved for backward, each piece once."""
    saved = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = call()
    return sum(saved.values()), result


@pytest.mark.parametrize(("name", "attributes", "n_kept"), [
    ("need_tanh", {}, 1), ("need_square", {}, 1), ("need_shift", {}, 0), ("need_either", {}, 0), ("need_either", {"scaled": True}, 1)])
def test_pytorch_saves_what_backward_needs(name, attributes, n_kept):
    tarsia.torch.register(tarsia.op(name))
    operator = getattr(torch.ops.tarsia, name)
    inputs = [torch.rand(1000, requires_grad=True) for _ in range(2 if name == "need_shift" else 1)]
    for _ in range(2):
        n_bytes, y = saved_bytes(lambda: operator(*inputs, **attributes))
        assert 4000 * n_kept <= n_bytes <= 4000 * n_kept + 100
        y.sum().backward()
        for x in inputs:
            expected = {"need_tanh": 1 - y**2, "need_square": 2 * x}.get(name, 2 * x if attributes else torch.ones(1000))
            assert torch.allclose(x.grad, expected, atol=1e-6)
            x.grad = None


def test_pytorch_lets_go_of_what_is_not_needed():
    tarsia.torch.register(tarsia.op("need_tanh"))
    leaf = torch.rand(1000, requires_grad=True)
    x = leaf * 2
    gone = weakref.ref(x)
    y = torch.ops.tarsia.need_tanh(x)
    del x
    gc.collect()
    assert gone() is None
    y.sum().backward()
    assert torch.allclose(leaf.grad, 2 * (1 - torch.tanh(2 * leaf.detach())**2), atol=1e-6)


def test_what_is_not_needed_may_change_between_the_passes():
    tarsia.torch.register(tarsia.op("need_tanh"))
    leaf = torch.rand(10, requires_grad=True)
    x = leaf * 1
    y = torch.ops.tarsia.need_tanh(x)
    with torch.no_grad():
        x.zero_()
    y.sum().backward()  # no error: x was not saved
    assert torch.allclose(leaf.grad, 1 - torch.tanh(leaf.detach())**2, atol=1e-6)


@pytest.mark.parametrize("name", ["need_tanh", "need_either"])
def test_pytorch_compiles_and_transforms_them(name):
    tarsia.torch.register(tarsia.op(name))
    operator = getattr(torch.ops.tarsia, name)
    x = torch.rand(7, requires_grad=True)
    expected = 1 - torch.tanh(x.detach())**2 if name == "need_tanh" else torch.ones(7)
    torch.compile(lambda x: operator(x).sum(), backend="aot_eager")(x).backward()
    assert torch.allclose(x.grad, expected, atol=1e-6)
    assert torch.allclose(torch.func.grad(lambda x: operator(x).sum())(x.detach()), expected, atol=1e-6)


def test_jax_keeps_what_backward_needs():
    jax = pytest.importorskip("jax", exc_type=ImportError)
    import tarsia.jax

    x = jax.numpy.linspace(-1, 1, 5)
    # What a function tells is known only when the op is bound: all is kept.
    for name, n_kept, expected in (("need_tanh", 1, 1 - jax.numpy.tanh(x)**2), ("need_square", 1, 2 * x),
                                   ("need_either", 2, jax.numpy.ones(5))):
        function = tarsia.jax.function(tarsia.op(name))
        _, pull = jax.vjp(function, x)
        kept = [leaf for leaf in jax.tree_util.tree_leaves(pull) if getattr(leaf, "shape", None) == (5,)]
        assert len(kept) == n_kept
        assert np.allclose(pull(jax.numpy.ones(5))[0], expected, atol=1e-6)
    shift = tarsia.jax.function(tarsia.op("need_shift"))
    da, db = jax.grad(lambda a, b: shift(a, b).sum(), argnums=(0, 1))(x, x)
    assert np.allclose(da, 1) and np.allclose(db, 1)


def test_a_graph_keeps_what_backwards_need():
    """A chain of tanh: with x needed, its memory cannot be used again between the passes."""
    peaks = {}
    for name in ("need_square", "need_shift"):
        g = tarsia.Graph()
        x = g.input("x")
        value = x
        for _ in range(8):
            value = getattr(g, name)(value) if name == "need_square" else g.need_shift(value, value)
        (dx,) = g.gradient(value, wrt=[x])
        g.output(dx)
        bound = g.bind(x=((1000,), "float32", "cpu"))
        peaks[name] = bound.plan.bytes
        result = bound(x=np.full(1000, 0.5, np.float32))
        assert np.all(np.isfinite(result))
    assert peaks["need_square"] > peaks["need_shift"] + 4000 * 4  # the squares' inputs live until their backward


def test_a_graph_leaves_out_what_attributes_decide():
    g = tarsia.Graph()
    x = g.input("x")
    y = g.need_either(g.need_either(x), scaled=True)
    (dx,) = g.gradient(y, wrt=[x])
    g.output(dx)
    result = g.bind(x=((4,), "float32", "cpu"))(x=np.arange(4, dtype=np.float32))
    assert np.allclose(result, 2 * np.arange(4))


def test_ops_in_python():
    seen = []

    @tarsia.define_op(backward_needs=("dy", "y"))
    class need_exp:
        def forward(self, x, y):
            np.exp(x, out=y)

        def backward(self, dy, x, y, dx):
            seen.append(x)
            np.multiply(dy, y, out=dx)

    x = np.array([0.0, 1.0], np.float32)
    y = need_exp(x)
    assert np.allclose(need_exp.backward([np.ones_like(x)], [x], [y])[0], np.exp(x))
    assert seen == [None]
    assert need_exp.bind(x).backward_needs == (True, False, True)
    with pytest.raises(tarsia.LoadError, match="'dx', and its backward takes dy, x, y"):
        tarsia.define_op(lambda x, y: None, name="need_wrong", backward=lambda dy, x, y, dx: None, backward_needs="dx")


def test_what_is_not_needed_is_not_converted():
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_matrix(np.array([[1, 0], [0, 2]], np.float32))
    with pytest.warns(tarsia.StorageFallbackWarning):
        bound = tarsia.op("need_tanh").bind(x)
    assert not [one for one in bound.backward_conversions if one.startswith("input 'x'")]
    assert [one for one in bound.conversions if one.startswith("input 'x'")]
