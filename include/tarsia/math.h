// Routines on tensors for authors of functions and ops: elementwise arithmetic and functions, products of
// matrices, reductions, softmax, transposing, casting, copying, filling, reading and adding by index.
//
//   void scaled_tanh(tarsia::StridedTensor x, tarsia::StridedTensor y, float by, tarsia::Stream stream) {
//     tarsia::math::multiply(y, x, by, stream);
//     tarsia::math::tanh(y, y, stream);
//   }
//   TARSIA_OP(affine).input("x").input("w").output("y").forward("cpu", [](tarsia::Context& c) {
//     tarsia::math::dot(c.output(0), c.input(0), c.input(1), c, c.request(0));
//   });
//
// A function takes the output first, then its inputs, then where it computes: a Context, a Stream, or nothing
// for the call's current stream; and the write request, by default to overwrite. It runs on the CPU, or
// on the GPU that the tensors are on, and then in a source with CUDA. On the CPU, elementwise functions,
// softmax and reductions that keep much divide their work over threads; BLAS does as it likes. It waits for
// nothing.
//
// Tensors may have any strides, and be of bool, integers, float16, bfloat16, float32 or float64, each of its
// own. Inputs broadcast to the output's shape by NumPy's rules. What is computed is float32, or float64 if
// one input is, or 64-bit integers if all are whole; then it is converted to the output's dtype. An output
// may be an input in the same places, unless rows are needed more than once: reductions, products,
// transpose, gather and scatter_add.
//
// Expressions of tensors and numbers are computed when they are assigned, in one pass and by one kernel:
//   tarsia::math::assign(y, tarsia::math::exp(a - b) * 0.5 + c);
//
// Errors: ValueError for shapes that do not go together, an output that overlaps an input in other places,
// and tensors on two devices; TypeError for other dtypes, and for tensors on a GPU in a source without CUDA;
// IndexError for an axis or index that there is not. On a GPU, an index that there is not reads 0 and adds
// nothing.
//
// Needs C++17. Device code that NVRTC compiles sees the kernels alone.
#pragma once

#include <tarsia/math/elementwise.h>
#include <tarsia/math/gather.h>
#include <tarsia/math/lazy.h>
#include <tarsia/math/matrix.h>
#include <tarsia/math/reduce.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {

// They are templates so that only those that are used get kernels: `Where_` is Context, Stream or On.

// clang-format off
// Of one element: sqrt, rsqrt, cbrt, reciprocal, exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, asin,
// acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, erf, erfc, sigmoid, silu, softplus, gelu; negative, abs,
// square, relu; sign, floor, ceil, trunc, round (halves to even); isnan, isinf, isfinite, logical_not.
#define TARSIA_DETAIL_MATH_X(name_, ...)                                                                    \
  /** out = name(x), elementwise. */                                                                        \
  template <class Where_ = On>                                                                              \
  void name_(const Tensor& out_, const Operand& x_, const Where_& where_ = Where_(),                        \
             Request request_ = Request::write) {                                                           \
    detail::map(#name_, functors::name_(), out_, {x_}, where_, request_);                                   \
  }
TARSIA_DETAIL_MATH_REAL(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_UNARY(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_STEPS(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_TESTS(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X

// Of two elements: add, subtract, multiply, divide (of whole numbers too, as floats), floor_divide, remainder
// (with the sign of the divisor), power, maximum, minimum, atan2, hypot; equal, not_equal, less, less_equal,
// greater, greater_equal, logical_and, logical_or, logical_xor. floor_divide and remainder of whole
// numbers by 0 are 0.
#define TARSIA_DETAIL_MATH_X(name_, ...)                                                                    \
  /** out = name(a, b), elementwise. */                                                                     \
  template <class Where_ = On>                                                                              \
  void name_(const Tensor& out_, const Operand& a_, const Operand& b_, const Where_& where_ = Where_(),     \
             Request request_ = Request::write) {                                                           \
    detail::map(#name_, functors::name_(), out_, {a_, b_}, where_, request_);                               \
  }
TARSIA_DETAIL_MATH_BINARY(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_COMPARE(TARSIA_DETAIL_MATH_X)
TARSIA_DETAIL_MATH_X(floor_divide)
#undef TARSIA_DETAIL_MATH_X
// clang-format on

/// out = a where the condition is not 0, else b, elementwise.
template <class Where_ = On>
void where(const Tensor& out_, const Operand& condition_, const Operand& a_, const Operand& b_,
           const Where_& where_ = Where_(), Request request_ = Request::write) {
  detail::map("where", functors::where(), out_, {condition_, a_, b_}, where_, request_);
}
/// out = x, but no less than low and no more than high, elementwise.
template <class Where_ = On>
void clip(const Tensor& out_, const Operand& x_, const Operand& low_, const Operand& high_,
          const Where_& where_ = Where_(), Request request_ = Request::write) {
  detail::map("clip", functors::clip(), out_, {x_, low_, high_}, where_, request_);
}
/// out = f(inputs), elementwise, for a functor of the author's own, as in TARSIA_ELEMENTWISE:
///   struct Mix {
///     enum { n = 2, is_real = 1 };  // two inputs; computed with floats
///     template <class C> TARSIA_HOST_DEVICE C operator()(C a, C b) const { … }
///   };
/// C is float or double; if is_real is 0, also long long and unsigned long long.
template <class F_, class Where_ = On>
void map(const F_& f_, const Tensor& out_, const Operand (&inputs_)[F_::n], const Where_& where_ = Where_(),
         Request request_ = Request::write) {
  detail::map("map", f_, out_, inputs_, where_, request_);
}

/// Copies elements and converts them to out's dtype. x broadcasts. A bool is whether an element is not 0.
template <class Where_ = On>
void copy(const Tensor& out_, const Operand& x_, const Where_& where_ = Where_(),
          Request request_ = Request::write) {
  detail::map("copy", functors::identity(), out_, {x_}, where_, request_);
}
/// The same: copies to a tensor of another dtype.
template <class Where_ = On>
void cast(const Tensor& out_, const Operand& x_, const Where_& where_ = Where_(),
          Request request_ = Request::write) {
  detail::map("cast", functors::identity(), out_, {x_}, where_, request_);
}
/// Sets all elements to a number.
template <class Where_ = On>
void fill(const Tensor& out_, const Operand& value_, const Where_& where_ = Where_(),
          Request request_ = Request::write) {
  detail::map("fill", functors::identity(), out_, {value_}, where_, request_);
}
/// out = x with its dimensions in another order: dimension i of out is dimension axes[i] of x. Without axes,
/// the order is reversed.
template <class Where_ = On>
void transpose(const Tensor& out_, const Tensor& x_, const Dims& axes_ = Dims(),
               const Where_& where_ = Where_(), Request request_ = Request::write) {
  const detail::View from_(x_);
  detail::View view_(x_);
  detail::permute(from_, view_, axes_);
  detail::map("transpose", functors::identity(), out_, {Operand(view_.get())}, where_, request_);
}

// Reductions over axes, over all dimensions if none are given. out has the shape of x without these axes, or
// with an extent of 1 in their places.
// clang-format off
#define TARSIA_DETAIL_MATH_REDUCTION(name_, functor_, real_)                                                \
  template <class Where_ = On>                                                                              \
  void name_(const Tensor& out_, const Tensor& x_, const Dims& axes_ = Dims(),                              \
             const Where_& where_ = Where_(), Request request_ = Request::write) {                          \
    detail::reduce<functors::functor_>(#name_, out_, x_, detail::mask_of(#name_, axes_, x_.ndim()), real_,  \
                                       where_, request_);                                                   \
  }
/// The sum; 0 of no elements.
TARSIA_DETAIL_MATH_REDUCTION(sum, sum<false>, false)
/// The mean, computed with floats; NaN of no elements.
TARSIA_DETAIL_MATH_REDUCTION(mean, sum<true>, true)
/// The product; 1 of no elements.
TARSIA_DETAIL_MATH_REDUCTION(prod, prod, false)
/// Whether any element is not 0.
TARSIA_DETAIL_MATH_REDUCTION(any, truth<false>, false)
/// Whether all elements are not 0.
TARSIA_DETAIL_MATH_REDUCTION(all, truth<true>, false)
#undef TARSIA_DETAIL_MATH_REDUCTION
// A mask of `extreme` has a comma, so these do without the macro's argument.
#define TARSIA_DETAIL_MATH_REDUCTION(name_, largest_, place_)                                               \
  template <class Where_ = On>                                                                              \
  void name_(const Tensor& out_, const Tensor& x_, const Dims& axes_ = Dims(),                              \
             const Where_& where_ = Where_(), Request request_ = Request::write) {                          \
    detail::reduce<functors::extreme<largest_, place_>>(                                                    \
        #name_, out_, x_, detail::mask_of(#name_, axes_, x_.ndim()), false, where_, request_);              \
  }
/// The largest element; NaN if one is. Throws ValueError if there are no elements, as the next three do.
TARSIA_DETAIL_MATH_REDUCTION(max, true, false)
/// The smallest element; NaN if one is.
TARSIA_DETAIL_MATH_REDUCTION(min, false, false)
/// Where the first of the largest elements is, counted in row-major order along the axes.
TARSIA_DETAIL_MATH_REDUCTION(argmax, true, true)
/// Where the first of the smallest elements is.
TARSIA_DETAIL_MATH_REDUCTION(argmin, false, true)
#undef TARSIA_DETAIL_MATH_REDUCTION
// clang-format on

/// Sums x to the shape of out, which broadcasts to that of x: the gradient of what was broadcast.
template <class Where_ = On>
void sum_to(const Tensor& out_, const Tensor& x_, const Where_& where_ = Where_(),
            Request request_ = Request::write) {
  if (request_ == Request::null) return;
  detail::View view_(out_);
  const int64_t mask_ = detail::as_reduced(out_, x_, view_);
  detail::reduce<functors::sum<false>>("sum_to", view_.get(), x_, mask_, false, where_, request_);
}

/// out = exp(x) / sum(exp(x)) along an axis. Does not overflow.
template <class Where_ = On>
void softmax(const Tensor& out_, const Tensor& x_, int axis_ = -1, const Where_& where_ = Where_(),
             Request request_ = Request::write) {
  detail::softmax<false>("softmax", out_, x_, axis_, where_, request_);
}
/// out = x - log(sum(exp(x))) along an axis.
template <class Where_ = On>
void log_softmax(const Tensor& out_, const Tensor& x_, int axis_ = -1, const Where_& where_ = Where_(),
                 Request request_ = Request::write) {
  detail::softmax<true>("log_softmax", out_, x_, axis_, where_, request_);
}
/// The gradient of softmax, from that of its output and the output.
template <class Where_ = On>
void softmax_gradient(const Tensor& dx_, const Tensor& dy_, const Tensor& y_, int axis_ = -1,
                      const Where_& where_ = Where_(), Request request_ = Request::write) {
  detail::softmax_gradient<false>("softmax_gradient", dx_, dy_, y_, axis_, where_, request_);
}
/// The gradient of log_softmax, from that of its output and the output.
template <class Where_ = On>
void log_softmax_gradient(const Tensor& dx_, const Tensor& dy_, const Tensor& y_, int axis_ = -1,
                          const Where_& where_ = Where_(), Request request_ = Request::write) {
  detail::softmax_gradient<true>("log_softmax_gradient", dx_, dy_, y_, axis_, where_, request_);
}

/// out[i…, j…, k…] = x[i…, index[j…], k…]: the elements along an axis at places that `index` tells, of any
/// shape and any integers. Negative ones count from the end.
template <class Where_ = On>
void gather(const Tensor& out_, const Tensor& x_, const Tensor& index_, int axis_ = 0,
            const Where_& where_ = Where_(), Request request_ = Request::write) {
  if (request_ == Request::null) return;
  detail::GatherPlan plan_;
  detail::plan_gather("gather", x_, index_, out_, axis_, false, plan_);
  if (!plan_.dims.count) return;
  const int how_ = static_cast<int>(request_);
  switch (plan_.computed) {
    case detail::k_as_float:
      return detail::gather_as<float>("gather", plan_, where_, how_);
    case detail::k_as_double:
      return detail::gather_as<double>("gather", plan_, where_, how_);
    case detail::k_as_int:
      return detail::gather_as<long long>("gather", plan_, where_, how_);
    case detail::k_as_uint:
      return detail::gather_as<unsigned long long>("gather", plan_, where_, how_);
  }
}
/// out[i…, index[j…], k…] += updates[i…, j…, k…], in the order of the indices. The gradient of gather, if out
/// is 0.
template <class Where_ = On>
void scatter_add(const Tensor& out_, const Tensor& index_, const Tensor& updates_, int axis_ = 0,
                 const Where_& where_ = Where_()) {
  detail::GatherPlan plan_;
  detail::plan_gather("scatter_add", out_, index_, updates_, axis_, true, plan_);
  if (!plan_.beside.count || !plan_.along.count) return;
  switch (plan_.computed) {
    case detail::k_as_float:
      return detail::scatter_as<float>("scatter_add", plan_, where_);
    case detail::k_as_double:
      return detail::scatter_as<double>("scatter_add", plan_, where_);
    case detail::k_as_int:
      return detail::scatter_as<long long>("scatter_add", plan_, where_);
    case detail::k_as_uint:
      return detail::scatter_as<unsigned long long>("scatter_add", plan_, where_);
  }
}

/// How a product takes its matrices.
struct Transposed {
  bool left = false;   ///< the first matrix is transposed
  bool right = false;  ///< the second matrix is transposed
};

/// out = a b, of vectors and matrices: a of one dimension is a row, b of one dimension a column, and out has
/// no dimension in their place. On the CPU a BLAS computes floats if the process or the machine has one:
/// NumPy's, or OpenBLAS, MKL, BLIS. On a GPU cuBLAS does.
template <class Where_ = On>
void dot(const Tensor& out_, const Tensor& a_, const Tensor& b_, const Where_& where_ = Where_(),
         Request request_ = Request::write, Transposed transposed_ = Transposed()) {
  if (a_.ndim() > 2 || b_.ndim() > 2)
    throw ValueError("math::dot: it multiplies vectors and matrices; batch_dot takes batches of them");
  detail::product("dot", out_, a_, b_, transposed_.left, transposed_.right, where_, request_);
}
/// out = a b for each of a batch of matrices: the last two dimensions are matrices, and those before them
/// broadcast.
template <class Where_ = On>
void batch_dot(const Tensor& out_, const Tensor& a_, const Tensor& b_, const Where_& where_ = Where_(),
               Request request_ = Request::write, Transposed transposed_ = Transposed()) {
  detail::product("batch_dot", out_, a_, b_, transposed_.left, transposed_.right, where_, request_);
}

}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
