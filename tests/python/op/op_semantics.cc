// Ops for the tests of what <tarsia/op.h> can declare: an inline source, and a library that g++ builds.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <tarsia/elementwise.h>

// ---- attributes ----

enum class Mode { fast, exact };

struct Size {
  int width = 1, height = 2;
};
static std::istream& operator>>(std::istream& in, Size& size) {
  char x = 0;
  in >> size.width >> x >> size.height;
  if (x != 'x') in.setstate(std::ios::failbit);
  return in;
}
static std::ostream& operator<<(std::ostream& out, const Size& size) {
  return out << size.width << 'x' << size.height;
}

struct Params {
  Size size;
  std::array<int, 3> kernel{{1, 2, 3}};
  std::vector<std::pair<int, float>> steps;
  Mode mode = Mode::exact;
};
TARSIA_OP(sem_attributes)
    .attribute("size", &Params::size)
    .describe("width and height")
    .attribute("kernel", &Params::kernel)
    .range(0, 9)
    .attribute("steps", &Params::steps)
    .attribute("mode", &Params::mode)
    .choices({"fast", "exact"})
    .attribute("tile", Size{3, 4})
    .attribute<std::optional<Size>>("border")
    .attribute("pair", std::tuple<int, std::string, bool>(7, "seven", true))
    .infer([](tarsia::BindInfo& i) {
      i.output("y").set_shape({10});
      i.output("y").set_dtype(tarsia::float64);
    })
    .forward("cpu", [](tarsia::Context& c) {
      const auto& p = c.params<Params>();
      const auto pair = c.attribute<std::tuple<int, std::string, bool>>("pair");
      double* y = c.output("y").data<double>();
      *y++ = p.size.width, *y++ = p.size.height;
      *y++ = p.kernel[0] * 100 + p.kernel[1] * 10 + p.kernel[2];
      *y++ = double(p.steps.size()), *y++ = p.steps.empty() ? 0 : p.steps.back().second;
      *y++ = int(p.mode);
      *y++ = c.attribute<Size>("tile").height;
      *y++ = c.attribute<std::optional<Size>>("border").value_or(Size{0, -1}).height;
      *y++ = std::get<0>(pair), *y++ = double(std::get<1>(pair).size()) * (std::get<2>(pair) ? 1 : -1);
    });
TARSIA_OP(sem_needs_size).attribute<Size>("size").forward("cpu", [](tarsia::Context&) {});

// ---- functors ----

struct Leaky {
  double slope = 0.25;
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T x) const {
    return x > T(0) ? x : T(slope) * x;
  }
};
struct LeakyGradient : Leaky {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T dy, T x, T) const {
    return x > T(0) ? dy : T(slope) * dy;
  }
};
TARSIA_ELEMENTWISE(sem_leaky, Leaky, LeakyGradient).attribute("slope", &Leaky::slope).range(0, 1);

struct Product {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T a, T b) const {
    return a * b;
  }
};
struct ProductByA {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T dy, T, T b, T) const {
    return dy * b;
  }
};
struct ProductByB {
  template <class T>
  TARSIA_HOST_DEVICE T operator()(T dy, T a, T, T) const {
    return dy * a;
  }
};
TARSIA_ELEMENTWISE(sem_product, Product, ProductByA, ProductByB);

struct Bits {
  typedef tarsia::element_types<int, long> elements;
  TARSIA_HOST_DEVICE long operator()(long x) const { return ~x; }
};
TARSIA_ELEMENTWISE(sem_not, Bits).input("bits").output("inverted");

// ---- other ops ----

// leaky(a·b), by two ops, the product in scratch.
TARSIA_OP(sem_composed)
    .input("a")
    .input("b")
    .output("y")
    .attribute("slope", 0.5)
    .forward("cpu", [](tarsia::Context& c) {
      const tarsia::InnerOp product("sem_product", {c.input("a"), c.input("b")});
      const tarsia::Tensor between = product.scratch_output(0, c.device());
      product({c.input("a"), c.input("b")}, {between});
      const tarsia::InnerOp leaky("sem_leaky", {between}, {{"slope", c.attribute<double>("slope")}});
      leaky({between}, {c.output("y")}, {tarsia::Request::write});
    });
// Binds the inner op once, in its state.
TARSIA_OP(sem_kept)
    .state([](const tarsia::BindInfo& i) {
      double zeros[4] = {};
      tarsia_tensor like = {};
      int64_t extent = i.input(0).size(0);
      like.data = zeros, like.ndim = 1, like.shape = &extent, like.dtype = i.input(0).dtype(), like.device = i.device();
      return new tarsia::InnerOp("sem_leaky", {tarsia::Tensor(&like)}, {{"slope", "0.5"}});
    })
    .forward("cpu", [](tarsia::Context& c) { c.state<tarsia::InnerOp>()({c.input(0)}, {c.output(0)}); });
TARSIA_OP(sem_calls_wrongly).forward("cpu", [](tarsia::Context& c) {
  const tarsia::Tensor longer = c.scratch_tensor({c.input(0).numel() + 1}, c.input(0).dtype());
  tarsia::InnerOp("sem_leaky", {c.input(0)})({c.input(0)}, {longer});
});

// ---- sparse tensors ----

// Doubles what is stored: CSR and row-sparse, forward and backward. Has a way of its own for dense tensors.
template <class Doubled>
static void double_sparse(const tarsia::Sparse& from, const Doubled& allocate) {
  const tarsia::Sparse to = allocate(from.count());
  for (int64_t i = 0; i < from.count(); ++i) to.indices()[i] = from.indices()[i];
  if (from.storage() == TARSIA_CSR)
    for (int64_t i = 0; i <= from.shape()[0]; ++i) to.indptr()[i] = from.indptr()[i];
  for (int64_t i = 0; i < from.values().numel(); ++i) to.values<float>()[i] = 2 * from.values<float>()[i];
}
TARSIA_OP(sem_double)
    .infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); })
    .forward("cpu",
             [](tarsia::Context& c) {
               if (c.input_storage(0) == TARSIA_DENSE) throw std::logic_error("the wrong implementation");
               double_sparse(c.sparse_input(0), [&](int64_t n) { return c.allocate_sparse(0, n); });
             })
    .sparse()
    .forward("cpu",
             [](tarsia::Context& c) {
               for (int64_t i = 0; i < c.input(0).numel(); ++i)
                 c.output(0).data<float>()[i] = 2 * c.input(0).data<const float>()[i];
             })
    .backward("cpu",
              [](tarsia::Context& c) { double_sparse(c.sparse_input(0), [&](int64_t n) { return c.allocate_sparse(0, n); }); })
    .sparse();
TARSIA_OP(sem_misreads).forward("cpu", [](tarsia::Context& c) { c.sparse_input(0); });
TARSIA_OP(sem_empty).infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); }).forward("cpu", [](tarsia::Context&) {}).sparse();

// ---- random states, ports ----

TARSIA_OP(sem_random).forward("cpu", [](tarsia::Context& c) {
  int n = 0;
  std::mt19937* states = c.random_states<std::mt19937>(&n);
  if (n != 1024) throw std::logic_error("not 1024 states");
  for (int64_t i = 0; i < c.output(0).numel(); ++i) c.output(0).data<double>()[i] = states[i]();
});

TARSIA_OP(sem_ports)
    .input("x")
    .input("mask")
    .no_gradient()
    .mutable_input("count")
    .output("y")
    .output("seen")
    .hidden()
    .infer([](tarsia::BindInfo& i) {
      i.output("y") = i.input("x");
      i.output("seen").set_shape({3});
      i.output("seen").set_dtype(tarsia::int32);
    })
    .forward("cpu",
             [](tarsia::Context& c) {
               for (int64_t i = 0; i < c.input("x").numel(); ++i)
                 c.output("y").data<float>()[i] = c.input("x").data<float>()[i] * c.input("mask").data<float>()[i];
               c.input("count").data<float>()[0] += 1;
               for (int i = 0; i < 3; ++i) c.output("seen").data<int32_t>()[i] = i;
             })
    .backward("cpu", [](tarsia::Context& c) {
      for (int64_t i = 0; i < c.in_grad(0).numel(); ++i)
        c.in_grad(0).data<float>()[i] = c.out_grad(0).data<float>()[i] * c.forward_input(1).data<float>()[i];
    });
TARSIA_OP(sem_no_port).forward("cpu", [](tarsia::Context& c) { c.input("weights"); });
