"""torch.func's transformations of registered operators: grad, vjp, vmap, jacrev."""

import pytest
from torch_support import nothing_stays  # noqa: F401

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script")
import tarsia.torch  # noqa: E402

SOURCE = r"""
#include <tarsia/elementwise.h>

struct Product {
  template <class T> TARSIA_HOST_DEVICE T operator()(T a, T b) const { return a * b; }
};
struct ProductA { template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T, T b, T) const { return dy * b; } };
struct ProductB { template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T a, T, T) const { return dy * a; } };
TARSIA_ELEMENTWISE(f_product, Product, ProductA, ProductB).input("a").input("b").output("y");

struct Power {
  double by = 2;
  template <class T> TARSIA_HOST_DEVICE T operator()(T x) const { return by == 2 ? x * x : x * x * x; }
};
struct PowerGradient : Power {
  template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T x, T) const { return dy * (by == 2 ? 2 * x : 3 * x * x); }
};
TARSIA_ELEMENTWISE(f_power, Power, PowerGradient).attribute("by", &Power::by);

TARSIA_OP(f_sum)
    .variadic_input("xs").output("y")
    .infer([](tarsia::BindInfo& i) {
      i.output(0).set_shape(i.input(0).shape());
      i.output(0).set_dtype(i.input(0).dtype());
    })
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.output(0).numel(); i++) {
        float sum = 0;
        for (int k = 0; k < c.n_inputs(); k++) sum += (k + 1) * c.input(k).data<float>()[i];
        c.output(0).data<float>()[i] = sum;
      }
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (int k = 0; k < c.n_outputs(); k++)
        if (tarsia::Tensor dx = c.in_grad(k))
          for (long i = 0; i < dx.numel(); i++) dx.data<float>()[i] = (k + 1) * c.out_grad(0).data<float>()[i];
    });

struct Calls { int n = 0; };
TARSIA_OP(f_count)
    .input("x").output("y")
    .state([](const tarsia::BindInfo&) { return new Calls; })
    .forward("cpu", [](tarsia::Context& c) {
      const float n = float(++c.state<Calls>().n);
      for (long i = 0; i < c.output(0).numel(); i++) c.output(0).data<float>()[i] = n * c.input(0).data<float>()[i];
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); i++)
        c.in_grad(0).data<float>()[i] = float(c.state<Calls>().n) * c.out_grad(0).data<float>()[i];
    });

tarsia::Tensor cube(const tarsia::Tensor& x) {
  tarsia::Tensor y = tarsia::empty_like(x);
  for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = x.data<const float>()[i] * x.data<const float>()[i] * x.data<const float>()[i];
  return y;
}
void cube_gradient(const tarsia::Tensor& dy, const tarsia::Tensor& x, tarsia::Tensor dx) {
  for (long i = 0; i < x.numel(); i++)
    dx.data<float>()[i] = 3 * dy.data<const float>()[i] * x.data<const float>()[i] * x.data<const float>()[i];
}
"""


@pytest.fixture(scope="module", autouse=True)
def lib():
    library = tarsia.load_inline(SOURCE)
    yield library
    library.unload()


def register(name, **options):
    return tarsia.torch.register(tarsia.op(name), **options)


def test_grad_and_vjp():
    product, power = register("f_product"), register("f_power")
    x, y = torch.randn(4), torch.randn(4)
    da, db = torch.func.grad(lambda a, b: product(a, b).sum(), argnums=(0, 1))(x, y)
    assert torch.equal(da, y) and torch.equal(db, x)
    assert torch.allclose(torch.func.grad(lambda x: power(product(x, y), by=3.0).sum())(x), 3 * x**2 * y**3)
    value, gradient_of = torch.func.vjp(power, x)
    assert torch.equal(value, x * x)
    assert torch.allclose(gradient_of(y)[0], 2 * x * y)  # after the transformation has ended
    gradient, value = torch.func.grad_and_value(lambda x: power(x).sum())(x)
    assert torch.allclose(gradient, 2 * x) and torch.allclose(value, (x * x).sum())
    assert x.grad is None and not x.requires_grad


def test_grad_of_what_wants_a_gradient_outside_too():
    power, product = register("f_power"), register("f_product")
    x, w = torch.randn(3), torch.randn(3, requires_grad=True)
    value, _ = torch.func.vjp(lambda x: product(power(x), w), x)
    value.sum().backward()
    assert torch.allclose(w.grad, x * x)
    inner = torch.func.grad(lambda x: (power(x) * w).sum())(x)  # w goes through the gradient of power
    with pytest.raises(RuntimeError, match="it cannot be differentiated twice"):
        inner.sum().backward()


def test_lists_and_states():
    total, count = register("f_sum"), register("f_count")
    xs = [torch.randn(3) for _ in range(3)]
    gradients = torch.func.grad(lambda a, b, c: total([a, b, c]).sum(), argnums=(0, 2))(*xs)
    assert [one.tolist() for one in gradients] == [[1] * 3, [3] * 3]
    gradient = torch.func.grad(lambda x: (count(x) + count(x)).sum())
    assert gradient(torch.ones(2)).tolist() == [4, 4]  # both by the count at that time: 2


def test_twice_is_refused():
    power = register("f_power")
    once = torch.func.grad(lambda x: power(x).sum())
    with pytest.raises(RuntimeError, match="the gradient of f_power has no gradient of its own: it cannot be differentiated twice"):
        torch.func.grad(lambda x: once(x).sum())(torch.ones(2))
    x = torch.ones(2, requires_grad=True)
    gradient, = torch.autograd.grad(power(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="it cannot be differentiated twice"):
        gradient.sum().backward()


def test_gradients_of_each_sample():
    product, total = register("f_product", vmap=True), register("f_sum", vmap=True)
    xs, w = torch.randn(5, 3), torch.randn(3)
    each = torch.func.vmap(torch.func.grad(lambda w, x: product(w, x).sum()), in_dims=(None, 0))(w, xs)
    assert torch.equal(each, xs)
    each = torch.func.vmap(torch.func.grad(lambda w, x: (total([w, x]) * x).sum(), argnums=(0, 1)), in_dims=(None, 0))(w, xs)
    assert torch.allclose(each[0], xs) and torch.allclose(each[1], w + 4 * xs)
    assert torch.allclose(torch.func.jacrev(lambda x: product(x, x))(w), torch.diag(2 * w))


@pytest.mark.parametrize("name", [None, "cube"])
def test_pairs_of_functions(lib, name):
    cube = tarsia.torch.function(lib.cube, lib.cube_gradient, name, outputs=torch.empty_like)
    x, v = torch.randn(4), torch.randn(4)
    assert torch.allclose(torch.func.grad(lambda x: cube(x).sum())(x), 3 * x * x)
    assert torch.allclose(torch.func.vjp(cube, x)[1](v)[0], 3 * x * x * v)
    x.requires_grad_()
    value, _ = torch.func.vjp(lambda y: cube(y) * cube(x), v)
    value.sum().backward()
    assert torch.allclose(x.grad, 3 * x.detach() ** 2 * v**3, rtol=1e-4)
    with pytest.raises(RuntimeError, match="differentiated twice"):
        torch.func.grad(lambda x: torch.func.grad(lambda x: cube(x).sum())(x).sum())(x.detach())


def test_in_compiled_graphs():
    power = register("f_power")
    gradient = torch.compile(lambda x: torch.func.grad(lambda x: power(x, by=3.0).sum())(x), backend="aot_eager", fullgraph=True)
    x = torch.randn(4)
    assert torch.allclose(gradient(x), 3 * x * x)


def test_forward_mode_is_refused():
    power, x = register("f_power"), torch.ones(2)
    with pytest.raises(NotImplementedError, match=r"tarsia::f_power.* has no rule for forward mode"):
        torch.func.jvp(power, (x,), (x,))
    with torch.autograd.forward_ad.dual_level():
        assert power(x).tolist() == [1, 1]
        with pytest.raises(NotImplementedError, match="differentiate in reverse mode"):
            power(torch.autograd.forward_ad.make_dual(x, x))
