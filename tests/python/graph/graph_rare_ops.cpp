// Ops for the tests of graphs: reductions, inference both ways, what is no function of the inputs,
// attributes.
#include "graph_ops.h"

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

// Waits until as many runs as the first number says are within it at once. If they do not come in a minute,
// it is an error.
TARSIA_OP(gr_meet).input("x").output("y").forward("cpu", [](Context& c) {
  static std::atomic<int> here{0};
  const int wanted = static_cast<int>(*c.input(0).data<const float>());
  ++here;
  for (int i = 0; here < wanted; ++i) {
    if (i == 60'000) throw std::runtime_error("they do not overlap");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
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
