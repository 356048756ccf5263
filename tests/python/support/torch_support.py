"""What the tests of PyTorch's operators share: functions and ops, which their fixtures load."""

import re

import pytest
from places import REPO

import tarsia

torch = pytest.importorskip("torch")
import tarsia.torch  # noqa: E402

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
#include "leaky.h"
#include <atomic>
#include <optional>
#include <stdexcept>
#include <vector>

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
      const tarsia::Tensor half = c.forward_output(0), y = c.forward_output(1);
      if (!y || (half && 3 * half.data<float>()[0] != y.data<float>()[0])) throw std::invalid_argument("the wrong outputs");
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


@pytest.fixture(scope="module", name="lib")
def functions_library():
    return tarsia.load_inline(FUNCTIONS)


@pytest.fixture(scope="module", autouse=True, name="op_library")
def ops_library():
    library = tarsia.load_inline(OPS, include_dirs=[REPO / "tests/ops"])
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
