// Ops with one fault each, which tests of ops have to find, and some without.
#include <tarsia/op.h>

#include <cmath>
#include <cstring>

static float* y_of(tarsia::Context& c) { return c.output(0).data<float>(); }
static const float* x_of(tarsia::Context& c) { return c.input(0).data<const float>(); }
static long n_of(tarsia::Context& c) { return c.input(0).numel(); }

TARSIA_OP(good_square)
    .forward("cpu", [](tarsia::Context& c) { for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i] * x_of(c)[i]; })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < n_of(c); ++i)
        c.in_grad(0).data<float>()[i] = 2 * c.forward_input(0).data<float>()[i] * c.out_grad(0).data<float>()[i];
    });
TARSIA_OP(good_hidden)  // its slope is for the gradient alone
    .output("y")
    .output("slope")
    .hidden()
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i] * x_of(c)[i];
      for (long i = 0; c.output(1) && i < n_of(c); ++i) c.output(1).data<float>()[i] = 2 * x_of(c)[i];
    })
    .backward("cpu", [](tarsia::Context& c) {
      if (c.out_grad(1)) throw tarsia::ValueError("nobody has the gradient of a hidden output");
      for (long i = 0; i < c.in_grad(0).numel(); ++i)
        c.in_grad(0).data<float>()[i] = c.forward_output(1).data<float>()[i] * c.out_grad(0).data<float>()[i];
    });
TARSIA_OP(bad_unwritten).forward("cpu", [](tarsia::Context& c) { for (long i = 0; i + 1 < n_of(c); ++i) y_of(c)[i] = 1; });
TARSIA_OP(bad_overrun).forward("cpu", [](tarsia::Context& c) { for (long i = 0; i <= n_of(c); ++i) y_of(c)[i] = 1; });
TARSIA_OP(bad_copies_too_far).forward("cpu", [](tarsia::Context& c) {
  for (long i = 0; i <= n_of(c); ++i) y_of(c)[i] = x_of(c)[i];
});
TARSIA_OP(bad_underrun).forward("cpu", [](tarsia::Context& c) { for (long i = -1; i < n_of(c); ++i) y_of(c)[i] = 1; });
TARSIA_OP(bad_writes_input).forward("cpu", [](tarsia::Context& c) {
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i];
  const_cast<float*>(x_of(c))[0] += 1;
});
TARSIA_OP(bad_changes).forward("cpu", [](tarsia::Context& c) {
  static int calls = 0;
  ++calls;
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = calls;
});
TARSIA_OP(bad_accumulates).forward("cpu", [](tarsia::Context& c) {
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i] + (std::isnan(y_of(c)[i]) ? 0 : y_of(c)[i] > 1 ? 1 : 0);
});
TARSIA_OP(bad_scratch).forward("cpu", [](tarsia::Context& c) {
  float* sum = c.scratch<float>(n_of(c));  // taken for zeros
  for (long i = 0; i < n_of(c); ++i) sum[i] += x_of(c)[i], y_of(c)[i] = sum[i];
});
TARSIA_OP(bad_far_overrun).forward("cpu", [](tarsia::Context& c) {
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = 1;
  y_of(c)[n_of(c) + 64] = 1;
});
TARSIA_OP(bad_scratch_overrun).forward("cpu", [](tarsia::Context& c) {
  float* copy = c.scratch<float>(n_of(c));
  for (long i = 0; i <= n_of(c); ++i) copy[i] = 1;
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = copy[i];
});
TARSIA_OP(bad_scratch_underrun).forward("cpu", [](tarsia::Context& c) {
  tarsia::Tensor copy = c.scratch_tensor(c.input(0).shape(), tarsia::float32);
  for (long i = -1; i < n_of(c); ++i) copy.data<float>()[i] = 1;
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = copy.data<float>()[i];
});
TARSIA_OP(bad_hidden_gradient)
    .output("y")
    .output("slope")
    .hidden()
    .forward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i] * x_of(c)[i];
      for (long i = 0; c.output(1) && i < n_of(c); ++i) c.output(1).data<float>()[i] = 2 * x_of(c)[i];
    })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); ++i)
        c.in_grad(0).data<float>()[i] =
            c.forward_output(1).data<float>()[i] * c.out_grad(0).data<float>()[i] + 0 * c.out_grad(1).data<float>()[i];
    });
TARSIA_OP(good_scratch).forward("cpu", [](tarsia::Context& c) {
  float* copy = c.scratch<float>(n_of(c));
  for (long i = 0; i < n_of(c); ++i) copy[i] = x_of(c)[i];
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = copy[i];
});
TARSIA_OP(bad_null).forward("cpu", [](tarsia::Context& c) {
  for (long i = 0; c.output(0) && i < n_of(c); ++i)
    y_of(c)[i] = (c.request(0) == tarsia::Request::add ? y_of(c)[i] : 0) + x_of(c)[i];
}).honours_requests();
TARSIA_OP(bad_add).forward("cpu", [](tarsia::Context& c) {
  for (long i = 0; c.request(0) != tarsia::Request::null && i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i];
}).honours_requests();
TARSIA_OP(bad_inplace).forward("cpu", [](tarsia::Context& c) {  // reverses
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[n_of(c) - 1 - i];
}).inplace(0, 0);
TARSIA_OP(bad_gradient)
    .forward("cpu", [](tarsia::Context& c) { for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i] * x_of(c)[i]; })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < n_of(c); ++i)
        c.in_grad(0).data<float>()[i] = c.forward_input(0).data<float>()[i] * c.out_grad(0).data<float>()[i];
    });
TARSIA_OP(bad_throws).forward("cpu", [](tarsia::Context&) { throw tarsia::ValueError("never works"); });
TARSIA_OP(bad_sparse).infer([](tarsia::BindInfo& i) { i.output(0) = i.input(0); }).forward("cpu", [](tarsia::Context& c) {
  if (c.input_storage(0) == TARSIA_DENSE) throw tarsia::TypeError("takes sparse tensors only");
  const tarsia::Sparse x = c.sparse_input(0), y = c.allocate_sparse(0, x.count());
  static int calls = 0;
  for (int64_t i = 0; i < x.count(); ++i) y.indices()[i] = x.indices()[i], y.values<float>()[i] = float(++calls);
  if (y.indptr()) std::memcpy(y.indptr(), x.indptr(), 8 * (x.shape()[0] + 1));
  for (int64_t i = x.count(); i < x.values().numel(); ++i) y.values<float>()[i] = 0;
}).sparse();
// Straight through: not the derivative, on purpose.
TARSIA_OP(straight)
    .forward("cpu", [](tarsia::Context& c) { for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = std::nearbyint(x_of(c)[i]); })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < n_of(c); ++i) c.in_grad(0).data<float>()[i] = c.out_grad(0).data<float>()[i];
    });
TARSIA_OP(needs_columns)
    .input("table")
    .input("rows")
    .infer([](tarsia::BindInfo& i) {
      if (i.input(1).has_dtype() && i.input(1).dtype() != tarsia::int64) throw tarsia::TypeError("rows are int64");
      if (i.input(0).ndim() != 2 || i.input(1).ndim() != 1) throw tarsia::ValueError("a table and a list of rows");
      if (i.input(0).size(1) != 7) throw tarsia::ValueError("tables have 7 columns");
      i.output(0).set_shape({i.input(1).size(0), 7});
      i.output(0).set_dtype(i.input(0).dtype());
    })
    .forward("cpu", [](tarsia::Context& c) {
      for (int64_t r = 0; r < c.input(1).numel(); ++r)
        for (int k = 0; k < 7; ++k) y_of(c)[r * 7 + k] = x_of(c)[c.input(1).data<int64_t>()[r] * 7 + k];
    });
#if defined(CRASHES)
TARSIA_OP(crashes).forward("cpu", [](tarsia::Context&) { *static_cast<volatile int*>(nullptr) = 1; });
#endif
// Their hidden output is memory for another device, which this one leaves as it is.
TARSIA_OP(good_unwritten_hidden)
    .output("y")
    .output("workspace")
    .hidden()
    .forward("cpu", [](tarsia::Context& c) { for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = 2 * x_of(c)[i]; })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); ++i) c.in_grad(0).data<float>()[i] = 2 * c.out_grad(0).data<float>()[i];
    });
TARSIA_OP(bad_unwritten_hidden)
    .output("y")
    .output("workspace")
    .hidden()
    .forward("cpu", [](tarsia::Context& c) { for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = 2 * x_of(c)[i]; })
    .backward("cpu", [](tarsia::Context& c) {
      for (long i = 0; i < c.in_grad(0).numel(); ++i)
        c.in_grad(0).data<float>()[i] = c.forward_output(1).data<float>()[i] * c.out_grad(0).data<float>()[i];
    });
// As sums of threads, which add in any order: each run rounds otherwise.
template <int pass>
static float turn(float by) {
  static int calls = 0;
  return ++calls % 2 ? by : -by;
}
TARSIA_OP(good_rounding)
    .output("y")
    .output("twice")
    .forward("cpu", [](tarsia::Context& c) {
      const float end = turn<1>(100);
      for (long i = 0; i < n_of(c); ++i) {
        const float x = x_of(c)[i];  // which an output may lie over
        if (c.output(0)) y_of(c)[i] = std::nextafterf(x, end);
        if (c.output(1)) c.output(1).data<float>()[i] = std::nextafterf(2 * x, end);
      }
    })
    .backward("cpu", [](tarsia::Context& c) {
      const float end = turn<2>(100);
      for (long i = 0; i < c.in_grad(0).numel(); ++i)
        c.in_grad(0).data<float>()[i] = std::nextafterf(c.out_grad(0).data<float>()[i] + 2 * c.out_grad(1).data<float>()[i], end);
    });
TARSIA_OP(bad_changes_little).forward("cpu", [](tarsia::Context& c) {
  const float more = turn<3>(1e-4f);
  for (long i = 0; i < n_of(c); ++i) y_of(c)[i] = x_of(c)[i] + more;
});
