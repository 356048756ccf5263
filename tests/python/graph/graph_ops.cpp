// Ops for the tests of graphs: of one and two inputs, of several outputs and implementations.
#include "graph_ops.h"

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
