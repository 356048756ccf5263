"""Functions and ops as operators of PyTorch: schemas, tracing, gradients, replacement."""

import gc
import os
import re
import subprocess
import sys
import threading
import weakref

import pytest

import tarsia

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script_method")
import tarsia.torch  # noqa: E402

ops = torch.ops.tarsia

FUNCTIONS = r"""
#include <tarsia/op.h>
#include <cmath>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

void axpy(float a, const float* x, float* y, long n) {
  for (long i = 0; i < n; i++) y[i] += a * x[i];
}
tarsia::Tensor twice(const tarsia::Tensor& x) {
  tarsia::Tensor y = tarsia::empty_like(x);
  for (long i = 0; i < x.numel(); i++) y.data<float>()[i] = 2 * x.data<const float>()[i];
  return y;
}
double norm(const float* x, long n, double p = 2) {
  double sum = 0;
  for (long i = 0; i < n; i++) sum += std::pow(std::abs(x[i]), p);
  return std::pow(sum, 1 / p);
}
long many(std::vector<tarsia::Tensor> tensors, std::optional<long> k, bool flag, const std::vector<double>& factors,
          const std::string& word) {
  return long(tensors.size()) + k.value_or(100) + flag + long(factors.size()) + long(word.size());
}
std::tuple<tarsia::Tensor, tarsia::Tensor> both(const tarsia::Tensor& x) { return {twice(x), twice(x)}; }
tarsia::Tensor same(const tarsia::Tensor& x) { return x; }
int dtype_of(const float*) { return 32; }
int dtype_of(const double*) { return 64; }
int dtype_of(int) { return 0; }
int lambda(int from, int) { return from; }
std::vector<std::vector<int>> nested() { return {}; }
namespace deep { float inner(float x) { return x; } }
void fill(tarsia::Tensor x) { for (long i = 0; i < x.numel(); i++) x.data<float>()[i] = 7; }
void noise(float* x, long n) { static unsigned s = 1; for (long i = 0; i < n; i++) x[i] = float(s = s * 1664525u + 1013904223u); }
"""

OPS = r"""
#include <tarsia/elementwise.h>
#include <atomic>
#include <optional>
#include <stdexcept>
#include <vector>

struct Leaky {
  double slope = 0.25;
  template <class T> TARSIA_HOST_DEVICE T operator()(T x) const { return x > T(0) ? x : T(slope) * x; }
};
struct LeakyGradient : Leaky {
  template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T x, T) const { return x > T(0) ? dy : T(slope) * dy; }
};
TARSIA_ELEMENTWISE(t_leaky, Leaky, LeakyGradient).attribute("slope", &Leaky::slope);

struct Product {
  template <class T> TARSIA_HOST_DEVICE T operator()(T a, T b) const { return a * b; }
};
struct ProductA { template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T, T b, T) const { return dy * b; } };
struct ProductB { template <class T> TARSIA_HOST_DEVICE T operator()(T dy, T a, T, T) const { return dy * a; } };
TARSIA_ELEMENTWISE(t_product, Product, ProductA, ProductB).input("a").input("b").output("y");

// Picks rows: an index has no gradient. The attributes are of every kind.
TARSIA_OP(t_take)
    .input("table").input("index").no_gradient().optional_input("bias").output("rows")
    .attribute("scale", 1.0f).attribute("flip", false).attribute("mode", "plain")
    .attribute<std::vector<int>>("sizes", std::vector<int>{1, 2}).attribute<std::optional<int>>("limit")
    .infer([](tarsia::BindInfo& i) {
      if (!i.input(0).has_shape() || !i.input(1).has_shape()) return;
      i.output(0).set_shape({i.input(1).size(0), i.input(0).size(1)});
      i.output(0).set_dtype(i.input(0).dtype());
    })
    .forward("cpu", [](tarsia::Context& c) {
      const tarsia::Tensor t = c.input(0), index = c.input(1), bias = c.input(2), y = c.output(0);
      const float scale = c.attribute<float>("scale") * (c.attribute<bool>("flip") ? -1 : 1);
      const long n = t.size(1);
      for (long i = 0; i < index.numel(); i++)
        for (long k = 0; k < n; k++)
          y.data<float>()[i * n + k] = scale * t.data<float>()[index.data<int64_t>()[i] * n + k] + (bias ? bias.data<float>()[k] : 0);
    })
    .backward("cpu", [](tarsia::Context& c) {
      const tarsia::Tensor dy = c.out_grad(0), index = c.forward_input(1), dt = c.in_grad(0), db = c.in_grad(2);
      const float scale = c.attribute<float>("scale") * (c.attribute<bool>("flip") ? -1 : 1);
      const long n = dy.size(1);
      if (dt) for (long i = 0; i < dt.numel(); i++) dt.data<float>()[i] = 0;
      if (db) for (long i = 0; i < n; i++) db.data<float>()[i] = 0;
      for (long i = 0; i < index.numel(); i++)
        for (long k = 0; k < n; k++) {
          if (dt) dt.data<float>()[index.data<int64_t>()[i] * n + k] += scale * dy.data<float>()[i * n + k];
          if (db) db.data<float>()[k] += dy.data<float>()[i * n + k];
        }
    });

TARSIA_OP(t_sum)
    .variadic_input("xs").output("y")
    .infer([](tarsia::BindInfo& i) {
      i.output(0).set_shape(i.input(0).shape());
      i.output(0).set_dtype(i.input(0).dtype());
    })
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.output(0).numel(); i++) {
        float sum = 0;
        for (int k = 0; k < c.n_inputs(); k++) sum += c.input(k).data<float>()[i];
        c.output(0).data<float>()[i] = sum;
      }
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (int k = 0; k < c.n_outputs(); k++)
        if (tarsia::Tensor dx = c.in_grad(k))
          for (long i = 0; i < dx.numel(); i++) dx.data<float>()[i] = (k + 1) * c.out_grad(0).data<float>()[i];
    });

// y = x, mean(x); the second one is often not used.
TARSIA_OP(t_split)
    .input("x").output("y").output("z")
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.input(0).numel(); i++) {
        c.output(0).data<float>()[i] = c.input(0).data<float>()[i];
        c.output(1).data<float>()[i] = 3 * c.input(0).data<float>()[i];
      }
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); i++)
        c.in_grad(0).data<float>()[i] = c.out_grad(0).data<float>()[i] + 3 * c.out_grad(1).data<float>()[i];
    });

TARSIA_OP(t_running)
    .input("x").mutable_input("total").output("y")
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.input(0).numel(); i++)
        c.output(0).data<float>()[i] = c.input(1).data<float>()[i] += c.input(0).data<float>()[i];
    });

struct Count { std::atomic<int> n{0}; };
TARSIA_OP(t_count)
    .input("x").output("y").attribute("start", 0)
    .state([](const tarsia::BindInfo&) { return new Count; })
    .forward("cpu", [](tarsia::Context& c) {
      const float n = float(c.attribute<int>("start") + ++c.state<Count>().n);
      for (long i = 0; i < c.output(0).numel(); i++) c.output(0).data<float>()[i] = c.input(0).data<float>()[i] + n;
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); i++)
        c.in_grad(0).data<float>()[i] = c.out_grad(0).data<float>()[i] * float(c.state<Count>().n);
    });

TARSIA_OP(t_densify)
    .input("x").output("y")
    .infer([](tarsia::BindInfo& i) {
      i.output(0).set_shape(i.input(0).shape());
      i.output(0).set_dtype(i.input(0).dtype());
    })
    .forward("cpu", [](tarsia::Context& c) {
      const tarsia::Sparse x = c.sparse_input(0);
      const tarsia::Tensor y = c.output(0);
      for (long i = 0; i < y.numel(); i++) y.data<float>()[i] = 0;
      for (long row = 0; row < y.size(0); row++)
        for (long i = x.indptr()[row]; i < x.indptr()[row + 1]; i++)
          y.data<float>()[row * y.size(1) + x.indices()[i]] = x.values<float>()[i];
    }).sparse();

TARSIA_OP(t_hidden)
    .input("x").output("half").hidden().output("y")
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.input(0).numel(); i++) {
        c.output(0).data<float>()[i] = c.input(0).data<float>()[i] / 2;
        c.output(1).data<float>()[i] = 3 * c.output(0).data<float>()[i];
      }
    })
    .backward("cpu", [](tarsia::Context& c) {
      if (c.forward_output(0) || !c.forward_output(1)) throw std::invalid_argument("the wrong outputs");
      for (long i = 0; i < c.in_grad(0).numel(); i++) c.in_grad(0).data<float>()[i] = 1.5f * c.out_grad(1).data<float>()[i];
    });

TARSIA_OP(t_dice)
    .random().input("x").output("y")
    .forward("cpu", [](tarsia::Context& c) {
      static float last = 0;
      for (long i = 0; i < c.output(0).numel(); i++) c.output(0).data<float>()[i] = ++last;
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); i++) c.in_grad(0).data<float>()[i] = 1;
    });

TARSIA_OP(t_fails).input("x").output("y").forward("cpu", [](tarsia::Context&) { throw std::out_of_range("no such row"); });
"""


@pytest.fixture(scope="module")
def lib():
    return tarsia.load_inline(FUNCTIONS)


@pytest.fixture(scope="module", autouse=True)
def op_library():
    library = tarsia.load_inline(OPS)
    yield library
    library.unload()


@pytest.fixture(autouse=True)
def nothing_stays():
    yield
    for name in tarsia.torch.registered():
        tarsia.torch.unregister(name)
    torch._dynamo.reset()


def schema(operator):
    return re.sub(r"[.]version\d+", "", str(operator.default._schema))


def check(operator, *args, kwargs=None, tests=None):
    options = {"test_utils": tests} if tests else {}
    results = torch.library.opcheck(operator.default, args, kwargs or {}, **options)
    assert set(results.values()) == {"SUCCESS"}, results


# ---- functions ----


def test_schemas_follow_from_signatures(lib):
    register = tarsia.torch.register
    assert schema(register(lib.axpy)) == "tarsia::axpy(float a, Tensor x, Tensor(a2!) y, SymInt n) -> ()"
    assert schema(register(lib.twice)) == "tarsia::twice(Tensor x) -> Tensor"
    assert schema(register(lib.norm)) == "tarsia::norm(Tensor x, SymInt n, float? p=None) -> float"
    assert schema(register(lib.many)) == (
        "tarsia::many(Tensor(a0!)[] tensors, SymInt? k, bool flag, float[] factors, str word) -> SymInt")
    assert schema(register(lib.many, mutates=())).startswith("tarsia::many(Tensor[] tensors, ")
    assert schema(register(lib.both)) == "tarsia::both(Tensor x) -> (Tensor, Tensor)"
    assert schema(register(lib.fill)) == "tarsia::fill(Tensor(a0!) x) -> ()"
    assert schema(register(lib["lambda"])) == "tarsia::lambda_(SymInt from_, SymInt arg2) -> SymInt"
    assert schema(register(lib.inner, "mine::inner")) == "mine::inner(float x) -> float"
    assert torch.ops.mine.inner(1.5) == 1.5 and "mine::inner" in tarsia.torch.registered()
    with pytest.raises(tarsia.Unsupported, match="nested: PyTorch has no type for its result"):
        register(lib.nested)
    for bad in ("a b", "a::b::c", "::x", ""):
        with pytest.raises(ValueError, match="names no operator"):
            register(lib.twice, bad)
    with pytest.raises(ValueError, match="mutates names 'x', which the function cannot write to"):
        register(lib.axpy, mutates=["x"])
    with pytest.raises(ValueError, match="mutates names z, which it has not"):
        register(lib.axpy, mutates=["z"])
    with pytest.raises(TypeError, match="not int"):
        register(3)


def test_functions_are_called_and_traced(lib):
    axpy = tarsia.torch.register(lib.axpy)
    x, y = torch.randn(6), torch.zeros(6)
    version = y._version
    axpy(2.0, x, y, 6)
    ops.axpy(1.0, x=x, y=y, n=6)
    assert torch.allclose(y, 3 * x) and y._version == version + 2
    check(axpy, 2.0, x, y, 6)
    norm = tarsia.torch.register(lib.norm, fake=lambda x, n, p=None: 0.0)
    assert norm(x, 6) == pytest.approx(float(x.norm())) and norm(x, 6, 1.0) == pytest.approx(float(x.abs().sum()))
    assert norm(x, n=6, p=None) == norm(x, 6)
    twice = tarsia.torch.register(lib.twice, fake=torch.empty_like)
    assert torch.equal(twice(x), 2 * x)
    check(twice, x)
    check(tarsia.torch.register(lib.both, fake=lambda x: (torch.empty_like(x), torch.empty_like(x))), x)
    many = tarsia.torch.register(lib.many)
    assert many([x, y], None, True, [0.5], "ab") == 2 + 100 + 1 + 1 + 2
    with pytest.raises(TypeError, match="must be a float32 tensor, got torch.Tensor of float64"):
        axpy(2.0, x.double(), y, 6)


def test_a_tensor_that_is_read_may_have_any_strides_and_one_that_is_written_not(lib):
    axpy = tarsia.torch.register(lib.axpy)
    x, y = torch.randn(2, 3), torch.zeros(6)
    axpy(1.0, x.t(), y, 6)
    assert torch.equal(y, x.t().reshape(-1))
    with pytest.raises(ValueError, match="'y' .* must be contiguous"):
        axpy(1.0, y, torch.zeros(3, 2).t(), 6)
    ops.axpy(1.0, torch.ones(1).expand(6), y, 6)
    assert torch.equal(y, x.t().reshape(-1) + 1)


def test_overloads(lib):
    dtype_of = tarsia.torch.register(lib.dtype_of)
    assert dtype_of.overloads() == ["default", "overload2"]
    assert dtype_of(torch.zeros(1)) == 32 and dtype_of(torch.zeros(1).double()) == 64 and dtype_of(1) == 0


def test_a_result_that_is_an_argument_is_refused(lib):
    same = tarsia.torch.register(lib.same)
    with pytest.raises(tarsia.Unsupported, match="same gave one of its arguments as its result"):
        same(torch.ones(2))


def test_inference_mode_and_version_counters(lib):
    fill = tarsia.torch.register(lib.fill)
    with torch.inference_mode():
        x = torch.zeros(3)
        fill(x)
    assert x.tolist() == [7] * 3
    y = torch.zeros(3, requires_grad=True)
    z = y * 2
    squared = z * z
    fill(z.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        squared.sum().backward()


def test_without_a_fake_tracing_says_what_is_missing(lib):
    twice = tarsia.torch.register(lib.twice)
    with pytest.raises(Exception, match="register it with fake="):
        torch.compile(lambda x: twice(x), fullgraph=True, backend="aot_eager")(torch.ones(2))


def test_what_draws_random_numbers_is_tagged(lib):
    noise = tarsia.torch.register(lib.noise, random=True)
    assert torch.Tag.nondeterministic_seeded in noise.default.tags
    assert torch.Tag.nondeterministic_seeded not in tarsia.torch.register(lib.fill).default.tags
    dice = tarsia.torch.register(tarsia.op("t_dice"))
    assert torch.Tag.nondeterministic_seeded in dice.default.tags
    compiled = torch.compile(lambda x: dice(x) - dice(x), fullgraph=True, backend="aot_eager")
    assert compiled(torch.zeros(1)).tolist() == [-1]  # the same call twice is made twice
    check(noise, torch.zeros(3), 3, tests=("test_schema", "test_faketensor", "test_autograd_registration"))


def test_a_whole_library(lib, op_library):
    done = tarsia.torch.register(lib)
    assert set(done) == {"axpy", "twice", "norm", "many", "both", "same", "dtype_of", "lambda_", "inner", "fill", "noise"}
    assert list(done.skipped) == ["nested"] and "no type" in done.skipped["nested"]
    assert set(tarsia.torch.register(op_library)) == set(op_library.ops)
    assert ops.inner(2.0) == 2.0
    with pytest.raises(TypeError, match="of a whole library name cannot be given"):
        tarsia.torch.register(lib, "x")


# ---- ops ----


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


# ---- transformations ----


def model(x, leaky, axpy):
    y = torch.zeros_like(x)
    axpy(2.0, leaky(x, slope=0.1), y, x.numel())
    return (y * leaky(x)).sum()


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs(lib, backend):
    if backend == "inductor":
        needs_a_compiler()
    leaky, axpy = tarsia.torch.register(tarsia.op("t_leaky")), tarsia.torch.register(lib.axpy)
    compiled = torch.compile(model, fullgraph=True, backend=backend, dynamic=True)
    for n in (5, 6, 9):
        x = torch.randn(n)
        assert torch.allclose(compiled(x, leaky, axpy), model(x, leaky, axpy))
    product = tarsia.torch.register(tarsia.op("t_product"))
    train = torch.compile(lambda x: (product(leaky(x), x) * 3).sum(), fullgraph=True, backend=backend)
    x = torch.randn(5, requires_grad=True)
    train(x).backward()
    expected = torch.where(x > 0, 6 * x, 1.5 * x)
    assert torch.allclose(x.grad, expected)


def needs_a_compiler():
    try:
        subprocess.run(["g++", "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("inductor needs g++")


def test_exported_programs():
    leaky = tarsia.torch.register(tarsia.op("t_leaky"))

    class Module(torch.nn.Module):
        def forward(self, x):
            return leaky(x, slope=0.5) + 1

    x = torch.randn(2, 3)
    program = torch.export.export(Module(), (x,), dynamic_shapes={"x": {0: torch.export.Dim("n", min=1, max=64)}})
    assert leaky.default in [node.target for node in program.graph.nodes]
    for n in (2, 5):
        x = torch.randn(n, 3)
        assert torch.allclose(program.module()(x), Module()(x))


def test_inferred_shapes_in_graphs():
    take = tarsia.torch.register(tarsia.op("t_take"))
    compiled = torch.compile(lambda t, i: take(t, i).sum(1), fullgraph=True, backend="aot_eager")
    table = torch.randn(4, 3)
    for index in (torch.tensor([1, 2]), torch.tensor([0, 1, 2, 3, 3])):
        assert torch.allclose(compiled(table, index), table[index].sum(1))


def test_vmap_where_it_is_declared():
    x = torch.randn(4, 3)
    leaky = tarsia.torch.register(tarsia.op("t_leaky"), vmap=lambda info, dims, x, **k: (ops.t_leaky(x, **k), dims[0]))
    assert torch.equal(torch.vmap(leaky)(x), leaky(x))
    assert torch.equal(torch.vmap(leaky, in_dims=1, out_dims=1)(x), leaky(x))
    take = tarsia.torch.register(tarsia.op("t_take"), vmap=True)
    table, index = torch.randn(2, 4, 3), torch.tensor([[1, 0], [3, 3]])
    assert torch.equal(torch.vmap(take)(table, index), torch.stack([table[k][index[k]] for k in range(2)]))
    assert torch.equal(torch.vmap(take, (None, 0))(table[0], index), torch.stack([table[0][i] for i in index]))
    split = tarsia.torch.register(tarsia.op("t_split"), vmap=True)
    assert all(torch.equal(a, b) for a, b in zip(torch.vmap(split)(x), split(x)))
    product = tarsia.torch.register(tarsia.op("t_product"), vmap=True)
    x.requires_grad_()
    torch.vmap(product)(x, x).sum().backward()
    assert torch.allclose(x.grad, 2 * x)


def test_autocast_on_request():
    product = tarsia.torch.register(tarsia.op("t_product"), autocast=torch.float32)
    a, b = torch.randn(3), torch.randn(3)
    with torch.autocast("cpu", torch.bfloat16):
        assert product(a.bfloat16(), b.bfloat16()).dtype == torch.float32
    assert product(a.bfloat16(), b.bfloat16()).dtype == torch.bfloat16
    leaky = tarsia.torch.register(tarsia.op("t_leaky"), autocast={"cpu": torch.bfloat16})
    with torch.autocast("cpu", torch.bfloat16):
        assert leaky(a).dtype == torch.bfloat16


def test_meta_tensors():
    take = tarsia.torch.register(tarsia.op("t_take"))
    rows = take(torch.empty(4, 3, device="meta"), torch.empty(2, device="meta", dtype=torch.int64))
    assert rows.device.type == "meta" and rows.shape == (2, 3)
    with pytest.raises(ValueError, match="extent|shape|unify|differ|bind|float32"):
        tarsia.torch.register(tarsia.op("t_product"))(torch.empty(2, device="meta"), torch.empty(3, device="meta"))


def test_threads(lib):
    axpy, leaky = tarsia.torch.register(lib.axpy), tarsia.torch.register(tarsia.op("t_leaky"))
    failures = []

    def work(seed):
        x = torch.full((100,), float(seed), requires_grad=True)
        for _ in range(50):
            y = torch.zeros(100)
            axpy(2.0, x.detach(), y, 100)
            x.grad = None
            leaky(x).sum().backward()
            if y[99] != 2 * seed or x.grad[0] != 1:
                failures.append(seed)
        for _ in range(10):
            tarsia.torch.register(lib.axpy)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


# ---- replacing and letting go ----

VERSION = r"""
extern "C" {}
float version(const float* x%s) { return %d + x[0]; }
"""


def test_a_new_source_replaces_the_old_one():
    first = tarsia.load_inline(VERSION % ("", 1))
    operator = tarsia.torch.register(first.version)
    scale = tarsia.torch.register(tarsia.load_inline("void scale(float a, float* x) { *x *= a; }").scale)
    compiled = torch.compile(lambda x, y: (x + y, ops.scale(2.0, x))[0], backend="aot_eager", fullgraph=True)
    x = torch.zeros(1)
    assert compiled(torch.ones(1), x) == 1
    assert operator(x) == 1
    second = tarsia.load_inline(VERSION % ("", 2))
    assert tarsia.torch.register(second.version)(x) == 2
    assert operator(x) == 2  # whoever kept the operator calls the new code
    third = tarsia.load_inline(VERSION % (", int n", 3))
    newest = tarsia.torch.register(third.version)
    assert str(newest.default._schema) == "tarsia::version.version2(Tensor x, SymInt n) -> float"
    assert newest(x, 1) == ops.version(x, 1) == ops.version.default(x, 1) == 3
    with pytest.raises((AttributeError, RuntimeError)):  # the old one is no more
        operator.default(x)
    with pytest.raises(RuntimeError):
        operator(x)
    for fake in (lambda x, n: 5.0, lambda x, n: 6.0):
        operator = tarsia.torch.register(third.version, fake=fake)
        assert operator(x, 1) == 3 and operator(torch.empty(1, device="meta"), 1) == fake(x, 1)
    assert compiled(torch.ones(1), torch.zeros(1)) == 1


def test_an_op_is_that_of_the_library_loaded_last():
    text = """
    #include <tarsia/op.h>
    TARSIA_OP(t_replaced).forward("cpu", [](tarsia::Context& c) { *c.output(0).data<float>() = VERSION; });
    """
    first = tarsia.load_inline(text, defines={"VERSION": 1})
    operator = tarsia.torch.register(tarsia.op("t_replaced"))
    x = torch.zeros(1)
    assert operator(x) == 1
    second = tarsia.load_inline(text, defines={"VERSION": 2})
    assert operator(x) == 2
    first.unload()
    assert operator(x) == 2
    second.unload()
    with pytest.raises(tarsia.NotFound):
        operator(x)


def test_libraries_live_as_long_as_their_operators():
    lib = tarsia.load_inline("int eleven() { return 11; }")
    function = lib.eleven
    alive = weakref.ref(function)
    operator = tarsia.torch.register(function)
    del lib, function
    gc.collect()
    assert operator() == 11 and alive() is not None
    tarsia.torch.unregister("eleven")
    gc.collect()
    assert alive() is None
    with pytest.raises(tarsia.NotFound, match="was taken out"):
        operator()
    with pytest.raises(LookupError, match="no operator tarsia::eleven"):
        tarsia.torch.unregister("eleven")
    assert tarsia.torch.registered() == ()
    tarsia.torch.register(tarsia.load_inline("int eleven() { return 12; }").eleven)
    assert operator() == 12


def run(program):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_tarsia_imports_no_torch_and_leaves_nothing_behind():
    out, _ = run("import sys, tarsia; print('torch' in sys.modules)")
    assert out == "False\n"
    out, err = run("import tarsia, torch\n"
                   "lib = tarsia.load_inline('int twelve() { return 12; }')\n"
                   "tarsia.torch.register(lib)\nprint(torch.ops.tarsia.twelve())")
    assert out == "12\n" and "leaked" not in err
