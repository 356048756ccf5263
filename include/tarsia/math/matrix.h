// Products of matrices, of <tarsia/math.h>: by a BLAS or cuBLAS where there is one, else by loops of its own.
#pragma once

#include <tarsia/math/elementwise.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/math/blas.h>
#include <tarsia/math/cublas.h>
#include <tarsia/math/reduce.h>

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {
namespace detail {

/// Matrices of m by k and k by n for each place of a batch. Of the sides, data and strides are those of the
/// batch.
struct ProductPlan {
  LoopDims batch;
  Side a, b, c;
  long long m, n, k;
  long long ar, ac, br, bc, cr, cc;  ///< what rows and columns are apart, in elements
  Computed computed;
  bool on_gpu;
};

/// A tensor of one dimension is a row on the left and a column on the right, and so is what is given for it
/// in the result. Leading dimensions are a batch and broadcast.
TARSIA_DETAIL_SUPPORT void plan_product(const char* op_, const Tensor& out_, const Tensor& a_,
                                        const Tensor& b_, bool ta_, bool tb_, ProductPlan& p_) {
  LoopTensor tensors_[] = {
      {a_.get(), "input 1", false}, {b_.get(), "input 2", false}, {out_.get(), "out", true}};
  check_devices(op_, tensors_, 3);
  check_overlaps(op_, tensors_, 3, false);
  const int types_[] = {type_of(op_, "input 1", a_.dtype()), type_of(op_, "input 2", b_.dtype())};
  p_.a = side_of(a_.get(), types_[0]), p_.b = side_of(b_.get(), types_[1]);
  p_.c = side_of(out_.get(), type_of(op_, "out", out_.dtype()));
  if (!a_.ndim() || !b_.ndim())
    throw ValueError(Message("math::") << op_ << ": a scalar is no matrix: multiply takes one");
  const int out_dims_ = (a_.ndim() > 1) + (b_.ndim() > 1);
  const auto last_ = [](const Tensor& t_, int i_) { return t_.ndim() - 1 - i_; };
  p_.m = a_.ndim() > 1 ? a_.size(last_(a_, !ta_)) : 1;
  p_.k = a_.size(a_.ndim() > 1 ? last_(a_, ta_) : 0);
  p_.ar = a_.ndim() > 1 ? a_.stride(last_(a_, !ta_)) : 0;
  p_.ac = a_.stride(a_.ndim() > 1 ? last_(a_, ta_) : 0);
  const long long inner_ = b_.size(b_.ndim() > 1 ? last_(b_, !tb_) : 0);
  p_.n = b_.ndim() > 1 ? b_.size(last_(b_, tb_)) : 1;
  p_.br = b_.stride(b_.ndim() > 1 ? last_(b_, !tb_) : 0);
  p_.bc = b_.ndim() > 1 ? b_.stride(last_(b_, tb_)) : 0;
  if (inner_ != p_.k)
    throw ValueError(Message("math::")
                     << op_ << ": shapes " << ::tarsia::detail::shape_of(a_.get())
                     << (ta_ ? " transposed" : "") << " and " << ::tarsia::detail::shape_of(b_.get())
                     << (tb_ ? " transposed" : "") << " do not go together: there are " << p_.k
                     << " columns on the left, and " << inner_ << " rows on the right");
  bool fits_ = out_.ndim() >= out_dims_;
  if (fits_ && a_.ndim() > 1) fits_ = out_.size(out_.ndim() - out_dims_) == p_.m;
  if (fits_ && b_.ndim() > 1) fits_ = out_.size(out_.ndim() - 1) == p_.n;
  if (!fits_)
    throw ValueError(Message("math::")
                     << op_ << ": 'out' has shape " << ::tarsia::detail::shape_of(out_.get())
                     << ", the product ends in " << (a_.ndim() > 1 ? p_.m : p_.n) << " by " << p_.n);
  p_.cr = a_.ndim() > 1 ? out_.stride(out_.ndim() - out_dims_) : 0;
  p_.cc = b_.ndim() > 1 ? out_.stride(out_.ndim() - 1) : 0;
  // What is left of the shapes is the batch.
  View views_[3];
  const Tensor all_[] = {a_, b_, out_};
  const int less_[] = {a_.ndim() > 1 ? 2 : 1, b_.ndim() > 1 ? 2 : 1, out_dims_};
  for (int j_ = 0; j_ < 3; ++j_) {
    views_[j_].take(all_[j_]);
    views_[j_].tensor.ndim -= less_[j_];
    tensors_[j_].tensor = &views_[j_].tensor;
  }
  LoopShape shape_;
  broadcast(op_, tensors_, 3, -1, shape_);
  char* data_[3];
  long long strides_[3][k_loop_dims];
  ::tarsia::detail::plan_elementwise(op_, tensors_, 3, 2, shape_, false, false, p_.batch, data_, strides_);
  for (int d_ = 0; d_ < k_loop_dims; ++d_)
    p_.a.strides[d_] = strides_[0][d_], p_.b.strides[d_] = strides_[1][d_],
    p_.c.strides[d_] = strides_[2][d_];
  const Operand operands_[] = {a_, b_};
  p_.computed = computed_as(operands_, types_, 2, false);
  p_.on_gpu = out_.is_gpu();
}

/// A matrix in the type of computing: in place, or copied so that a row, or a column, has no gaps.
template <class C_>
struct Plain {
  const C_* data;
  bool across;  ///< it lies by columns
  long long ld;
};
template <class C_>
Plain<C_> plain_of(const Side& s_, long long at_, long long rows_, long long columns_, long long rs_,
                   long long cs_, C_* room_) {
  const bool across_ = cs_ != 1 && columns_ != 1 && (rs_ == 1 || rows_ == 1);
  const long long unit_ = across_ ? rs_ : cs_, ld_ = across_ ? cs_ : rs_, along_ = across_ ? rows_ : columns_,
                  beside_ = across_ ? columns_ : rows_;
  if (s_.type == own_type<C_>::value && (unit_ == 1 || along_ == 1) && (ld_ >= along_ || beside_ == 1))
    return Plain<C_>{reinterpret_cast<const C_*>(s_.data) + at_, across_,
                     beside_ == 1 && ld_ < along_ ? along_ : ld_};
  for (long long i_ = 0; i_ < beside_; ++i_) load_row(s_, at_ + i_ * ld_, unit_, along_, room_ + i_ * along_);
  return Plain<C_>{room_, across_, along_};
}

/// c = a b for one matrix, rows begin … end - 1 of it.
template <class C_>
void multiply_rows(const Plain<C_>& a_, const Plain<C_>& b_, long long begin_, long long end_, long long n_,
                   long long k_, C_* c_, long long ldc_) {
  for (long long i_ = begin_; i_ < end_; ++i_) {
    C_* const to_ = c_ + i_ * ldc_;
    for (long long j_ = 0; j_ < n_; ++j_) to_[j_] = C_(0);
    for (long long l_ = 0; l_ < k_; ++l_) {
      const C_ x_ = a_.data[a_.across ? l_ * a_.ld + i_ : i_ * a_.ld + l_];
      if (b_.across)
        for (long long j_ = 0; j_ < n_; ++j_) to_[j_] += x_ * b_.data[j_ * b_.ld + l_];
      else
        for (long long j_ = 0; j_ < n_; ++j_) to_[j_] += x_ * b_.data[l_ * b_.ld + j_];
    }
  }
}

template <class C_>
void multiply_on_cpu(const ProductPlan& p_, int request_) {
  const auto bytes_ = [](long long n_) { return static_cast<size_t>(n_ + 1) * sizeof(C_); };
  const RowMemory left_(bytes_(p_.m * p_.k)), right_(bytes_(p_.k * p_.n)), result_(bytes_(p_.m * p_.n));
  LoopCursor at_(p_.batch, 0);
  for (long long i_ = 0; i_ < p_.batch.count; ++i_) {
    const long long to_ = at_.offset(p_.batch, p_.c.strides);
    const Plain<C_> a_ =
        plain_of(p_.a, at_.offset(p_.batch, p_.a.strides), p_.m, p_.k, p_.ar, p_.ac, left_.as<C_>());
    const Plain<C_> b_ =
        plain_of(p_.b, at_.offset(p_.batch, p_.b.strides), p_.k, p_.n, p_.br, p_.bc, right_.as<C_>());
    const bool direct_ =
        p_.c.type == own_type<C_>::value && (p_.cc == 1 || p_.n == 1) && p_.k && (p_.cr >= p_.n || p_.m == 1);
    C_* const c_ = direct_ ? reinterpret_cast<C_*>(p_.c.data) + to_ : result_.as<C_>();
    const long long ldc_ = direct_ && p_.cr > p_.n ? p_.cr : p_.n;
    const bool add_ = direct_ && request_ == 3;
    const bool done_ = p_.k && multiply_by_blas(a_.across, b_.across, p_.m, p_.n, p_.k, a_.data, a_.ld,
                                                b_.data, b_.ld, C_(add_ ? 1 : 0), c_, ldc_);
    if (!done_) {
      C_* const own_ = add_ ? result_.as<C_>() : c_;
      const long long ld_ = add_ ? p_.n : ldc_;
      in_parts(p_.m, p_.n * p_.k, [&](long long begin_, long long end_) {
        multiply_rows(a_, b_, begin_, end_, p_.n, p_.k, own_, ld_);
      });
    }
    if (!direct_ || (add_ && !done_))
      for (long long r_ = 0; r_ < p_.m; ++r_)
        for (long long j_ = 0; j_ < p_.n; j_ += k_row)
          put_row(p_.c, to_ + r_ * p_.cr + j_ * p_.cc, p_.cc,
                  p_.n - j_ < k_row ? p_.n - j_ : static_cast<long long>(k_row),
                  result_.as<C_>() + r_ * p_.n + j_, request_);
    at_.advance(p_.batch, 1);
  }
}

template <class C_>
void multiply_as(const char* op_, const ProductPlan& p_, const On& on_, int request_) {
  if (!p_.on_gpu) return multiply_on_cpu<C_>(p_, request_);
#if TARSIA_DETAIL_MATH_CUDA
  (void)op_;
  if (p_.k && p_.a.type == p_.b.type && p_.a.type == p_.c.type && p_.batch.ndim == 1) {
    const Batch a_ = {p_.a.data, p_.ar, p_.ac, p_.a.strides[0]},
                b_ = {p_.b.data, p_.br, p_.bc, p_.b.strides[0]},
                c_ = {p_.c.data, p_.cr, p_.cc, p_.c.strides[0]};
    if (multiply_by_cublas(on_.stream(), p_.a.type, a_, b_, c_, p_.m, p_.n, p_.k, p_.batch.count,
                           request_ == 3))
      return;
  }
  const long long tiles_ = (p_.m + 15) / 16 * ((p_.n + 15) / 16) * p_.batch.count;
  multiply_matrices<C_><<<blocks(tiles_, 1), dim3(16, 16), 0, on_.stream()>>>(
      p_.batch, p_.a, p_.b, p_.c, p_.m, p_.n, p_.k, p_.ar, p_.ac, p_.br, p_.bc, p_.cr, p_.cc, request_);
#else
  (void)on_;
  needs_cuda(op_);
#endif
}

/// out = a b, as the request says.
template <class T_ = void>
void product(const char* op_, const Tensor& out_, const Tensor& a_, const Tensor& b_, bool ta_, bool tb_,
             const On& on_, Request request_) {
  if (request_ == Request::null) return;
  ProductPlan plan_;
  plan_product(op_, out_, a_, b_, ta_, tb_, plan_);
  if (!plan_.batch.count || !plan_.m || !plan_.n) return;
  const int how_ = static_cast<int>(request_);
  if (plan_.computed == k_as_float) return multiply_as<float>(op_, plan_, on_, how_);
  if (plan_.computed == k_as_double) return multiply_as<double>(op_, plan_, on_, how_);
  if (plan_.computed == k_as_int) return multiply_as<long long>(op_, plan_, on_, how_);
  multiply_as<unsigned long long>(op_, plan_, on_, how_);
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
