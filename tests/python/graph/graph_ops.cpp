// Ops for the tests of graphs. Elementwise ones read an element before they write it, so that their in-place
// pairs hold.
#include <tarsia/dispatch.h>
#include <tarsia/op.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using tarsia::BindInfo;
using tarsia::Context;
using tarsia::Tensor;

/// y[i] = f(x[i]) for an op of one input and one output.
template <class F>
auto unary(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
      const T* x = c.input(0).data<const T>();
      T* y = c.output(0).data<T>();
      for (int64_t i = 0, n = c.output(0).numel(); i < n; ++i) y[i] = static_cast<T>(f(c, x[i]));
    });
  };
}

/// dx[i] = f(dy[i], x[i], y[i]).
template <class F>
auto unary_backward(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
      const T *dy = c.out_grad(0).data<const T>(), *x = c.forward_input(0).data<const T>(),
              *y = c.forward_output(0) ? c.forward_output(0).data<const T>() : nullptr;
      if (!c.in_grad(0)) return;
      T* dx = c.in_grad(0).data<T>();
      for (int64_t i = 0, n = c.out_grad(0).numel(); i < n; ++i)
        dx[i] = static_cast<T>(f(c, dy[i], x[i], y ? y[i] : static_cast<T>(0)));
    });
  };
}

/// y[i] = f(a[i], b[i]).
template <class F>
auto binary(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
      const T *a = c.input(0).data<const T>(), *b = c.input(1).data<const T>();
      T* y = c.output(0).data<T>();
      for (int64_t i = 0, n = c.output(0).numel(); i < n; ++i) y[i] = f(a[i], b[i]);
    });
  };
}

/// (da[i], db[i]) = f(dy[i], a[i], b[i]).
template <class F>
auto binary_backward(F f) {
  return [f](Context& c) {
    TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
      const T *dy = c.out_grad(0).data<const T>(), *a = c.forward_input(0).data<const T>(),
              *b = c.forward_input(1).data<const T>();
      T *da = c.in_grad(0) ? c.in_grad(0).data<T>() : nullptr,
        *db = c.in_grad(1) ? c.in_grad(1).data<T>() : nullptr;
      for (int64_t i = 0, n = c.out_grad(0).numel(); i < n; ++i) {
        const auto [p, q] = f(dy[i], a[i], b[i]);
        if (da) da[i] = p;
        if (db) db[i] = q;
      }
    });
  };
}

auto plus_one() {
  return unary([](Context&, auto x) { return x + 1; });
}
auto as_dy() {
  return unary_backward([](Context&, auto dy, auto, auto) { return dy; });
}

}  // namespace

// ---- one input, one output

// In place forward and backward, by the op's own pair and by the implementation's.
TARSIA_OP(gr_neg)
    .input("x")
    .output("y")
    .inplace(0, 0)
    .forward("cpu", unary([](Context&, auto x) { return -x; }))
    .backward("cpu", unary_backward([](Context&, auto dy, auto, auto) { return -dy; }))
    .backward_inplace(0, 0);

TARSIA_OP(gr_relu)
    .input("x")
    .output("y")
    .forward("cpu", unary([](Context&, auto x) { return x > 0 ? x : x * 0; }))
    .forward_inplace(0, 0)
    .backward("cpu", unary_backward([](Context&, auto dy, auto, auto y) { return y > 0 ? dy : dy * 0; }))
    .backward_inplace(0, 0);

TARSIA_OP(gr_tanh)
    .input("x")
    .output("y")
    .forward("cpu", unary([](Context&, auto x) { return std::tanh(x); }))
    .forward_inplace(0, 0)
    .backward("cpu", unary_backward([](Context&, auto dy, auto, auto y) { return dy * (1 - y * y); }))
    .backward_inplace(0, 0)
    .backward_inplace(2, 0);

// Never in place.
TARSIA_OP(gr_square)
    .input("x")
    .output("y")
    .forward("cpu", unary([](Context&, auto x) { return x * x; }))
    .backward("cpu", unary_backward([](Context&, auto dy, auto x, auto) { return 2 * dy * x; }));

TARSIA_OP(gr_plain).input("x").output("y").forward("cpu", plus_one()).backward("cpu", as_dy());

TARSIA_OP(gr_scale)
    .input("x")
    .output("y")
    .attribute<double>("factor", 0.5)
    .forward("cpu", unary([](Context& c, auto x) { return x * c.attribute<double>("factor"); }))
    .forward_inplace(0, 0)
    .backward("cpu", unary_backward([](Context& c, auto dy, auto, auto) {
                return dy * c.attribute<double>("factor");
              }))
    .backward_inplace(0, 0);

TARSIA_OP(gr_no_backward).input("x").output("y").forward("cpu", plus_one()).forward_inplace(0, 0);

// ---- several implementations

// An attribute chooses.
TARSIA_OP(gr_pick)
    .input("x")
    .output("y")
    .attribute<std::string>("mode", std::string("apart"))
    .forward("cpu", plus_one())
    .named("apart")
    .forward("cpu", plus_one())
    .named("share")
    .priority(1)
    .when([](const BindInfo& i) { return i.attribute<std::string>("mode") == "share"; })
    .forward_inplace(0, 0);

// Priority chooses: both always apply.
TARSIA_OP(gr_ranked_high)
    .input("x")
    .output("y")
    .forward("cpu", plus_one())
    .named("share")
    .priority(2)
    .when([](const BindInfo&) { return true; })
    .forward_inplace(0, 0)
    .forward("cpu", plus_one())
    .named("apart");
TARSIA_OP(gr_ranked_low)
    .input("x")
    .output("y")
    .forward("cpu", plus_one())
    .named("share")
    .priority(-2)
    .when([](const BindInfo&) { return true; })
    .forward_inplace(0, 0)
    .forward("cpu", plus_one())
    .named("apart");

// Shape and dtype choose, on one device.
TARSIA_OP(gr_by_size)
    .input("x")
    .output("y")
    .forward("cpu", plus_one())
    .named("small")
    .forward("cpu", plus_one())
    .named("large")
    .priority(1)
    .when([](const BindInfo& i) { return i.input(0).size(0) >= 64; })
    .forward_inplace(0, 0);
TARSIA_OP(gr_by_dtype)
    .input("x")
    .output("y")
    .forward("cpu", plus_one())
    .named("any")
    .forward("cpu", plus_one())
    .named("double")
    .priority(1)
    .when([](const BindInfo& i) { return i.input(0).dtype() == tarsia::float64; })
    .forward_inplace(0, 0);

// A circular convolution with a short kernel. One backward computes dw before it writes dx over x; the plain
// one does not share.
namespace {
void convolve(Context& c) {
  TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
    const T *x = c.input(0).data<const T>(), *w = c.input(1).data<const T>();
    T* y = c.output(0).data<T>();
    const int64_t n = c.input(0).numel(), m = c.input(1).numel();
    for (int64_t i = 0; i < n; ++i) {
      T sum = 0;
      for (int64_t k = 0; k < m; ++k) sum += w[k] * x[(i + k) % n];
      y[i] = sum;
    }
  });
}
void convolve_backward(Context& c) {
  TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
    const T *dy = c.out_grad(0).data<const T>(), *x = c.forward_input(0).data<const T>(),
            *w = c.forward_input(1).data<const T>();
    const int64_t n = c.out_grad(0).numel(), m = c.forward_input(1).numel();
    if (c.in_grad(1)) {
      T* dw = c.in_grad(1).data<T>();
      for (int64_t k = 0; k < m; ++k) {
        T sum = 0;
        for (int64_t i = 0; i < n; ++i) sum += dy[i] * x[(i + k) % n];
        dw[k] = sum;
      }
    }
    if (c.in_grad(0)) {
      T* dx = c.in_grad(0).data<T>();
      for (int64_t i = 0; i < n; ++i) {
        T sum = 0;
        for (int64_t k = 0; k < m; ++k) sum += w[k] * dy[(i + n - k % n) % n];
        dx[i] = sum;
      }
    }
  });
}
void convolve_infer(BindInfo& i) {
  tarsia::unify(i.input(0), i.output(0));
  tarsia::unify_dtype(i.input(0), i.input(1));
}
}  // namespace
TARSIA_OP(gr_conv)
    .input("x")
    .input("w")
    .output("y")
    .attribute<std::string>("algorithm", std::string("auto"))
    .infer(convolve_infer)
    .forward("cpu", convolve)
    .named("forward")
    .backward("cpu", convolve_backward)
    .named("plain")
    .backward("cpu", convolve_backward)
    .named("cudnn")
    .priority(1)
    .when([](const BindInfo& i) { return i.attribute<std::string>("algorithm") != "plain"; })
    .backward_inplace(1, 0);

// ---- two inputs

TARSIA_OP(gr_add)
    .input("a")
    .input("b")
    .output("y")
    .forward("cpu", binary([](auto a, auto b) { return a + b; }))
    .forward_inplace(0, 0)
    .forward_inplace(1, 0)
    .backward("cpu", binary_backward([](auto dy, auto, auto) { return std::pair(dy, dy); }))
    .backward_inplace(0, 0);

TARSIA_OP(gr_mul)
    .input("a")
    .input("b")
    .output("y")
    .forward("cpu", binary([](auto a, auto b) { return a * b; }))
    .forward_inplace(0, 0)
    .backward("cpu", binary_backward([](auto dy, auto a, auto b) { return std::pair(dy * b, dy * a); }))
    .backward_inplace(0, 0)
    .backward_inplace(1, 1);

TARSIA_OP(gr_sub)
    .input("a")
    .input("b")
    .output("y")
    .forward("cpu", binary([](auto a, auto b) { return a - b; }))
    .backward("cpu", binary_backward([](auto dy, auto, auto) { return std::pair(dy, -dy); }));

// y[i] = a[i] - b[n - 1 - i]: it may share a, and would be wrong if it shared b.
TARSIA_OP(gr_sub_reversed)
    .input("a")
    .input("b")
    .output("y")
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const T *a = c.input(0).data<const T>(), *b = c.input(1).data<const T>();
                 T* y = c.output(0).data<T>();
                 const int64_t n = c.output(0).numel();
                 for (int64_t i = 0; i < n; ++i) y[i] = a[i] - b[n - 1 - i];
               });
             })
    .forward_inplace(0, 0);

// Rows of a get b added.
TARSIA_OP(gr_add_row)
    .input("a")
    .input("b")
    .output("y")
    .infer([](BindInfo& i) {
      tarsia::unify(i.input(0), i.output(0));
      tarsia::unify_dtype(i.input(0), i.input(1));
      if (i.input(0).ndim() == 2) {
        int64_t n = i.input(0).size(1);
        if (n < 0 && i.input(1).ndim() == 1) n = i.input(1).size(0);
        i.input(0).set_shape({i.input(0).size(0), n});
        i.output(0).set_shape(i.input(0).shape());
        if (!i.input(1).has_shape() || i.input(1).size(0) < 0) i.input(1).set_shape({n});
        if (i.input(1).ndim() != 1 || i.input(1).size(0) != n)
          throw std::invalid_argument("b has to have as many elements as a has columns");
      }
    })
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const T *a = c.input(0).data<const T>(), *b = c.input(1).data<const T>();
                 T* y = c.output(0).data<T>();
                 const int64_t rows = c.input(0).size(0), columns = c.input(0).size(1);
                 for (int64_t r = 0; r < rows; ++r)
                   for (int64_t k = 0; k < columns; ++k) y[r * columns + k] = a[r * columns + k] + b[k];
               });
             })
    .forward_inplace(0, 0)
    .backward("cpu", [](Context& c) {
      TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
        const T* dy = c.out_grad(0).data<const T>();
        const int64_t rows = c.out_grad(0).size(0), columns = c.out_grad(0).size(1);
        if (c.in_grad(1)) {
          T* db = c.in_grad(1).data<T>();
          for (int64_t k = 0; k < columns; ++k) {
            T sum = 0;
            for (int64_t r = 0; r < rows; ++r) sum += dy[r * columns + k];
            db[k] = sum;
          }
        }
        if (c.in_grad(0)) std::copy_n(dy, rows * columns, c.in_grad(0).data<T>());
      });
    });

// The elements of x times the number s.
TARSIA_OP(gr_times)
    .input("x")
    .input("s")
    .output("y")
    .infer([](BindInfo& i) {
      tarsia::unify(i.input(0), i.output(0));
      tarsia::unify_dtype(i.input(0), i.input(1));
      if (!i.input(1).has_shape()) i.input(1).set_shape({});
    })
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const T* x = c.input(0).data<const T>();
                 const T s = *c.input(1).data<const T>();
                 T* y = c.output(0).data<T>();
                 for (int64_t i = 0, n = c.output(0).numel(); i < n; ++i) y[i] = x[i] * s;
               });
             })
    .forward_inplace(0, 0)
    .backward("cpu",
              [](Context& c) {
                TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
                  const T *dy = c.out_grad(0).data<const T>(), *x = c.forward_input(0).data<const T>();
                  const T s = *c.forward_input(1).data<const T>();
                  const int64_t n = c.out_grad(0).numel();
                  T sum = 0;
                  for (int64_t i = 0; i < n; ++i) sum += dy[i] * x[i];
                  if (c.in_grad(0))
                    for (int64_t i = 0; i < n; ++i) c.in_grad(0).data<T>()[i] = dy[i] * s;
                  if (c.in_grad(1)) *c.in_grad(1).data<T>() = sum;
                });
              })
    .backward_inplace(0, 0);

TARSIA_OP(gr_matmul)
    .input("a")
    .input("b")
    .output("y")
    .infer([](BindInfo& i) {
      const tarsia::Meta a = i.input(0), b = i.input(1), y = i.output(0);
      int64_t n[3] = {-1, -1, -1};  // rows, inner, columns
      const auto learn = [&](tarsia::Meta m, int p, int q) {
        if (!m.has_shape()) return;
        if (m.ndim() != 2) throw std::invalid_argument("matrices are needed");
        for (int k = 0; k < 2; ++k) {
          int64_t& at = n[k ? q : p];
          if (at >= 0 && m.size(k) >= 0 && at != m.size(k))
            throw std::invalid_argument("the matrices do not fit");
          if (at < 0) at = m.size(k);
        }
      };
      learn(a, 0, 1), learn(b, 1, 2), learn(y, 0, 2);
      a.set_shape({n[0], n[1]}), b.set_shape({n[1], n[2]}), y.set_shape({n[0], n[2]});
      tarsia::unify_dtype(a, b);
      tarsia::unify_dtype(a, y);
    })
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const T *a = c.input(0).data<const T>(), *b = c.input(1).data<const T>();
                 T* y = c.output(0).data<T>();
                 const int64_t n = c.input(0).size(0), m = c.input(0).size(1), p = c.input(1).size(1);
                 for (int64_t i = 0; i < n; ++i)
                   for (int64_t j = 0; j < p; ++j) {
                     T sum = 0;
                     for (int64_t k = 0; k < m; ++k) sum += a[i * m + k] * b[k * p + j];
                     y[i * p + j] = sum;
                   }
               });
             })
    .backward("cpu", [](Context& c) {
      TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
        const T *dy = c.out_grad(0).data<const T>(), *a = c.forward_input(0).data<const T>(),
                *b = c.forward_input(1).data<const T>();
        const int64_t n = c.forward_input(0).size(0), m = c.forward_input(0).size(1),
                      p = c.forward_input(1).size(1);
        if (c.in_grad(0))
          for (int64_t i = 0; i < n; ++i)
            for (int64_t k = 0; k < m; ++k) {
              T sum = 0;
              for (int64_t j = 0; j < p; ++j) sum += dy[i * p + j] * b[k * p + j];
              c.in_grad(0).data<T>()[i * m + k] = sum;
            }
        if (c.in_grad(1))
          for (int64_t k = 0; k < m; ++k)
            for (int64_t j = 0; j < p; ++j) {
              T sum = 0;
              for (int64_t i = 0; i < n; ++i) sum += a[i * m + k] * dy[i * p + j];
              c.in_grad(1).data<T>()[k * p + j] = sum;
            }
      });
    });

// ---- several outputs

// p = x + 1 may share x; q = 2 x may not.
TARSIA_OP(gr_split)
    .input("x")
    .output("p")
    .output("q")
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const T* x = c.input(0).data<const T>();
                 T *p = c.output(0) ? c.output(0).data<T>() : nullptr,
                   *q = c.output(1) ? c.output(1).data<T>() : nullptr;
                 for (int64_t i = 0, n = c.input(0).numel(); i < n; ++i) {
                   const T at = x[i];
                   if (p) p[i] = at + 1;
                   if (q) q[i] = 2 * at;
                 }
               });
             })
    .forward_inplace(0, 0)
    .backward("cpu",
              [](Context& c) {
                TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
                  const T *dp = c.out_grad(0).data<const T>(), *dq = c.out_grad(1).data<const T>();
                  if (!c.in_grad(0)) return;
                  T* dx = c.in_grad(0).data<T>();
                  for (int64_t i = 0, n = c.out_grad(0).numel(); i < n; ++i) dx[i] = dp[i] + 2 * dq[i];
                });
              })
    .backward_inplace(1, 0);

// Both outputs may share the input, though not at once.
TARSIA_OP(gr_twins)
    .input("x")
    .output("p")
    .output("q")
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const T* x = c.input(0).data<const T>();
                 for (int64_t i = 0, n = c.input(0).numel(); i < n; ++i) {
                   const T at = x[i];
                   if (c.output(0)) c.output(0).data<T>()[i] = at + 1;
                   if (c.output(1)) c.output(1).data<T>()[i] = at + 2;
                 }
               });
             })
    .forward_inplace(0, 0)
    .forward_inplace(0, 1);

// As many copies of x as wanted, each with its number added.
TARSIA_OP(gr_copies)
    .input("x")
    .output("y")
    .attribute<int>("n", 2)
    .arity([](const BindInfo& i, int*, int* n_out) { *n_out = i.attribute<int>("n"); })
    .forward("cpu", [](Context& c) {
      for (int o = 0; o < c.n_outputs(); ++o)
        for (int64_t i = 0; c.output(o) && i < c.input(0).numel(); ++i)
          c.output(o).data<float>()[i] = c.input(0).data<const float>()[i] + static_cast<float>(o);
    });

// The sum of any number of tensors.
TARSIA_OP(gr_sum_of).variadic_input("xs").output("y").forward("cpu", [](Context& c) {
  TARSIA_DISPATCH(c.output(0).dtype(), T, (float, double), {
    T* y = c.output(0).data<T>();
    for (int64_t i = 0, n = c.output(0).numel(); i < n; ++i) {
      T sum = 0;
      for (int k = 0; k < c.n_inputs(); ++k) sum += c.input(k).data<const T>()[i];
      y[i] = sum;
    }
  });
});

TARSIA_OP(gr_biased)
    .input("x")
    .optional_input("bias")
    .output("y")
    .infer([](BindInfo& i) {
      tarsia::unify(i.input(0), i.output(0));
      if (i.input(1).present()) tarsia::unify(i.input(0), i.input(1));
    })
    .forward("cpu", binary([](auto a, auto b) { return a + b; }))
    .when([](const BindInfo& i) { return i.input(1).present(); })
    .priority(1)
    .named("with bias")
    .forward("cpu", unary([](Context&, auto x) { return x; }))
    .named("without bias");

// ---- reductions

TARSIA_OP(gr_sum_all)
    .input("x")
    .output("y")
    .infer([](BindInfo& i) {
      i.output(0).set_shape({});
      tarsia::unify_dtype(i.input(0), i.output(0));
    })
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 T sum = 0;
                 for (int64_t i = 0; i < c.input(0).numel(); ++i) sum += c.input(0).data<const T>()[i];
                 *c.output(0).data<T>() = sum;
               });
             })
    .backward("cpu", [](Context& c) {
      TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
        if (c.in_grad(0))
          std::fill_n(c.in_grad(0).data<T>(), c.in_grad(0).numel(), *c.out_grad(0).data<const T>());
      });
    });

TARSIA_OP(gr_row_sum)
    .input("x")
    .output("y")
    .infer([](BindInfo& i) {
      if (i.input(0).has_shape()) i.output(0).set_shape({i.input(0).size(0)});
      tarsia::unify_dtype(i.input(0), i.output(0));
    })
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const int64_t columns = c.input(0).size(1);
                 for (int64_t r = 0; r < c.input(0).size(0); ++r) {
                   T sum = 0;
                   for (int64_t k = 0; k < columns; ++k) sum += c.input(0).data<const T>()[r * columns + k];
                   c.output(0).data<T>()[r] = sum;
                 }
               });
             })
    .backward("cpu", [](Context& c) {
      TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
        const int64_t columns = c.forward_input(0).size(1);
        if (!c.in_grad(0)) return;
        for (int64_t i = 0; i < c.in_grad(0).numel(); ++i)
          c.in_grad(0).data<T>()[i] = c.out_grad(0).data<const T>()[i / columns];
      });
    });

TARSIA_OP(gr_softmax)
    .input("x")
    .output("y")
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 const int64_t columns = c.input(0).size(1);
                 for (int64_t r = 0; r < c.input(0).size(0); ++r) {
                   const T* x = c.input(0).data<const T>() + r * columns;
                   T* y = c.output(0).data<T>() + r * columns;
                   T most = columns ? x[0] : 0, sum = 0;
                   for (int64_t k = 1; k < columns; ++k) most = std::max(most, x[k]);
                   for (int64_t k = 0; k < columns; ++k) sum += (y[k] = std::exp(x[k] - most));
                   for (int64_t k = 0; k < columns; ++k) y[k] /= sum;
                 }
               });
             })
    .forward_inplace(0, 0)
    .backward("cpu",
              [](Context& c) {
                TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
                  if (!c.in_grad(0)) return;
                  const int64_t columns = c.out_grad(0).size(1);
                  for (int64_t r = 0; r < c.out_grad(0).size(0); ++r) {
                    const T *dy = c.out_grad(0).data<const T>() + r * columns,
                            *y = c.forward_output(0).data<const T>() + r * columns;
                    T* dx = c.in_grad(0).data<T>() + r * columns;
                    T dot = 0;
                    for (int64_t k = 0; k < columns; ++k) dot += dy[k] * y[k];
                    for (int64_t k = 0; k < columns; ++k) dx[k] = y[k] * (dy[k] - dot);
                  }
                });
              })
    .backward_inplace(0, 0);

// ---- inference

// One after the other. Each of the three lengths follows from the two others.
TARSIA_OP(gr_concat)
    .input("a")
    .input("b")
    .output("y")
    .infer([](BindInfo& i) {
      const auto length = [](tarsia::Meta m) { return m.has_shape() ? m.size(0) : int64_t{-1}; };
      const int64_t a = length(i.input(0)), b = length(i.input(1)), y = length(i.output(0));
      if (a >= 0 && b >= 0) i.output(0).set_shape({a + b});
      if (a >= 0 && y >= 0 && b < 0) i.input(1).set_shape({y - a});
      if (b >= 0 && y >= 0 && a < 0) i.input(0).set_shape({y - b});
      tarsia::unify_dtype(i.input(0), i.input(1));
      tarsia::unify_dtype(i.input(0), i.output(0));
    })
    .forward("cpu", [](Context& c) {
      TARSIA_DISPATCH(c.output(0).dtype(), T, (float, double), {
        const int64_t n = c.input(0).numel();
        std::copy_n(c.input(0).data<const T>(), n, c.output(0).data<T>());
        std::copy_n(c.input(1).data<const T>(), c.input(1).numel(), c.output(0).data<T>() + n);
      });
    });

// float32 to float64 and float32 to int32. Both declare a pair; only one of them has the size for it.
TARSIA_OP(gr_widen)
    .input("x")
    .output("y")
    .infer([](BindInfo& i) {
      tarsia::unify_shape(i.input(0), i.output(0));
      i.output(0).set_dtype(tarsia::float64);
    })
    .forward("cpu",
             [](Context& c) {
               for (int64_t i = 0; i < c.input(0).numel(); ++i)
                 c.output(0).data<double>()[i] = c.input(0).data<const float>()[i];
             })
    .forward_inplace(0, 0);
TARSIA_OP(gr_round)
    .input("x")
    .output("y")
    .infer([](BindInfo& i) {
      tarsia::unify_shape(i.input(0), i.output(0));
      i.output(0).set_dtype(tarsia::int32);
    })
    .forward("cpu",
             [](Context& c) {
               for (int64_t i = 0; i < c.input(0).numel(); ++i) {
                 const float x = c.input(0).data<const float>()[i];
                 c.output(0).data<int32_t>()[i] = static_cast<int32_t>(std::lround(x));
               }
             })
    .forward_inplace(0, 0);

// Knows the shape of its output only.
TARSIA_OP(gr_as_row)
    .input("x")
    .output("y")
    .infer([](BindInfo& i) {
      if (!i.input(0).has_shape()) return;
      int64_t n = 1;
      for (int k = 0; k < i.input(0).ndim(); ++k)
        n = n < 0 || i.input(0).size(k) < 0 ? -1 : n * i.input(0).size(k);
      if (n >= 0) i.output(0).set_shape({n});
      tarsia::unify_dtype(i.input(0), i.output(0));
    })
    .forward("cpu", [](Context& c) {
      TARSIA_DISPATCH(c.output(0).dtype(), T, (float, double), {
        std::copy_n(c.input(0).data<const T>(), c.output(0).numel(), c.output(0).data<T>());
      });
    });

// ---- what is not a function of the inputs alone

// sum += x; y = sum.
TARSIA_OP(gr_running).input("x").mutable_input("sum").output("y").forward("cpu", [](Context& c) {
  TARSIA_DISPATCH(c.output(0).dtype(), T, (float, double), {
    for (int64_t i = 0; i < c.input(0).numel(); ++i) {
      c.input(1).data<T>()[i] += c.input(0).data<const T>()[i];
      c.output(0).data<T>()[i] = c.input(1).data<T>()[i];
    }
  });
});

// Keeps each element with some probability. What was kept is a hidden output.
TARSIA_OP(gr_dropout)
    .input("x")
    .output("y")
    .output("mask")
    .hidden()
    .random()
    .attribute<double>("keep", 0.5)
    .forward("cpu",
             [](Context& c) {
               std::mt19937& random = *c.random_states<std::mt19937>();
               const double keep = c.attribute<double>("keep");
               TARSIA_DISPATCH(c.input(0).dtype(), T, (float, double), {
                 for (int64_t i = 0; i < c.input(0).numel(); ++i) {
                   const T at = (random() & 0xffff) < keep * 0x10000 ? T(1 / keep) : T(0);
                   c.output(0).data<T>()[i] = at * c.input(0).data<const T>()[i];
                   if (c.output(1)) c.output(1).data<T>()[i] = at;
                 }
               });
             })
    .backward("cpu",
              [](Context& c) {
                if (!c.forward_output(1)) throw std::invalid_argument("the mask is missing");
                TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
                  for (int64_t i = 0; c.in_grad(0) && i < c.out_grad(0).numel(); ++i)
                    c.in_grad(0).data<T>()[i] =
                        c.out_grad(0).data<const T>()[i] * c.forward_output(1).data<const T>()[i];
                });
              })
    .backward_inplace(0, 0);

// Rows of a table by their numbers, which have no gradient.
TARSIA_OP(gr_take)
    .input("table")
    .input("rows")
    .no_gradient()
    .output("y")
    .infer([](BindInfo& i) {
      if (i.input(0).has_shape() && i.input(1).has_shape())
        i.output(0).set_shape({i.input(1).size(0), i.input(0).size(1)});
      tarsia::unify_dtype(i.input(0), i.output(0));
      i.input(1).set_dtype(tarsia::int64);
    })
    .forward("cpu",
             [](Context& c) {
               TARSIA_DISPATCH(c.output(0).dtype(), T, (float, double), {
                 const int64_t columns = c.input(0).size(1);
                 for (int64_t r = 0; r < c.input(1).numel(); ++r) {
                   const int64_t row = c.input(1).data<const int64_t>()[r];
                   if (row < 0 || row >= c.input(0).size(0))
                     throw std::out_of_range("there is no row " + std::to_string(row));
                   std::copy_n(c.input(0).data<const T>() + row * columns, columns,
                               c.output(0).data<T>() + r * columns);
                 }
               });
             })
    .backward("cpu", [](Context& c) {
      TARSIA_DISPATCH(c.out_grad(0).dtype(), T, (float, double), {
        if (!c.in_grad(0)) return;
        const int64_t columns = c.in_grad(0).size(1);
        std::fill_n(c.in_grad(0).data<T>(), c.in_grad(0).numel(), T(0));
        for (int64_t r = 0; r < c.forward_input(1).numel(); ++r)
          for (int64_t k = 0; k < columns; ++k)
            c.in_grad(0).data<T>()[c.forward_input(1).data<const int64_t>()[r] * columns + k] +=
                c.out_grad(0).data<const T>()[r * columns + k];
      });
    });

// Refuses negative numbers.
TARSIA_OP(gr_checked)
    .input("x")
    .output("y")
    .forward("cpu", unary([](Context&, auto x) {
               if (x < 0) throw std::invalid_argument("a number is negative");
               return x;
             }))
    .forward_inplace(0, 0);

// Takes its time.
TARSIA_OP(gr_slow).input("x").output("y").forward("cpu", [](Context& c) {
  std::this_thread::sleep_for(std::chrono::microseconds(500));
  plus_one()(c);
});

// Scratch memory of four times the input, which is told to the planner.
TARSIA_OP(gr_scratch)
    .input("x")
    .output("y")
    .forward("cpu",
             [](Context& c) {
               const int64_t n = c.input(0).numel();
               float* scratch = c.scratch<float>(4 * n);
               for (int64_t i = 0; i < 4 * n; ++i) scratch[i] = c.input(0).data<const float>()[i % n];
               for (int64_t i = 0; i < n; ++i) c.output(0).data<float>()[i] = scratch[3 * n + i];
             })
    .workspace([](const BindInfo& i) {
      int64_t n = 1;
      for (int k = 0; k < i.input(0).ndim(); ++k) n *= i.input(0).size(k);
      return 16 * n;
    });

// How often it was inferred, made a state, and was run.
namespace {
std::atomic<int64_t> n_inferred, n_states, n_runs;
struct Nothing {};
}  // namespace
TARSIA_OP(gr_probe)
    .input("x")
    .output("y")
    .infer([](BindInfo& i) {
      ++n_inferred;
      tarsia::unify(i.input(0), i.output(0));
    })
    .state([](const BindInfo&) {
      ++n_states;
      return new Nothing;
    })
    .forward("cpu", [](Context& c) {
      ++n_runs;
      plus_one()(c);
    });
TARSIA_OP(gr_probe_counts)
    .input("x")
    .output("y")
    .infer([](BindInfo& i) {
      i.output(0).set_shape({3});
      i.output(0).set_dtype(tarsia::int64);
    })
    .forward("cpu", [](Context& c) {
      int64_t* y = c.output(0).data<int64_t>();
      y[0] = n_inferred, y[1] = n_states, y[2] = n_runs;
    });

// ---- attributes of every kind, as numbers

TARSIA_OP(gr_attributes)
    .input("x")
    .output("y")
    .attribute<bool>("flag", false)
    .attribute<int64_t>("count", int64_t{1})
    .attribute<uint64_t>("large", uint64_t{0})
    .attribute<double>("level", 0.25)
    .attribute<std::string>("word", std::string("abc"))
    .attribute<std::vector<int64_t>>("sizes", std::vector<int64_t>{1, 2})
    .attribute<std::vector<double>>("levels", std::vector<double>{})
    .attribute<std::vector<std::string>>("words", std::vector<std::string>{})
    .attribute<std::optional<double>>("maybe")
    .infer([](BindInfo& info) {
      info.output(0).set_shape({12});
      info.output(0).set_dtype(tarsia::float64);
    })
    .forward("cpu", [](Context& c) {
      double* y = c.output(0).data<double>();
      std::fill_n(y, 12, 0.0);
      y[0] = c.attribute<bool>("flag");
      y[1] = static_cast<double>(c.attribute<int64_t>("count"));
      y[2] = static_cast<double>(c.attribute<uint64_t>("large"));
      y[3] = c.attribute<double>("level");
      for (const char at : c.attribute<std::string>("word")) y[4] = y[4] * 7 + static_cast<unsigned char>(at);
      for (const int64_t n : c.attribute<std::vector<int64_t>>("sizes"))
        y[5] = y[5] * 10 + static_cast<double>(n);
      for (const double level : c.attribute<std::vector<double>>("levels")) y[6] = y[6] * 2 + level;
      for (const std::string& word : c.attribute<std::vector<std::string>>("words"))
        y[7] = y[7] * 10 + static_cast<double>(word.size());
      y[8] = c.attribute<std::optional<double>>("maybe").value_or(-1);
      y[9] = static_cast<double>(c.attribute<std::vector<double>>("levels").size());
      y[10] = static_cast<double>(c.attribute<std::vector<std::string>>("words").size());
      y[11] = c.attribute<std::optional<double>>("maybe").has_value();
    });
