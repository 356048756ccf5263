// Reading and adding by index, of <tarsia/math.h>.
#pragma once

#include <tarsia/math/reduce.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {
namespace detail {

/// Elements of `x` along `axis` at places that `index` tells: of shape x.shape[:axis] + index.shape +
/// x.shape[axis + 1:].
struct GatherPlan {
  LoopDims dims;           ///< gather: of the result
  LoopDims beside, along;  ///< scatter: what is not the axis, and the indices
  Side x, index, picked, picked_along;
  long long extent, step;
  Computed computed;
  bool on_gpu;
};

TARSIA_DETAIL_SUPPORT void plan_gather(const char* op_, const Tensor& x_, const Tensor& index_,
                                       const Tensor& picked_, int axis_, bool scatter_, GatherPlan& p_) {
  const LoopTensor tensors_[] = {{x_.get(), scatter_ ? "out" : "input 1", scatter_},
                                 {index_.get(), "index", false},
                                 {picked_.get(), scatter_ ? "updates" : "out", !scatter_}};
  check_devices(op_, tensors_, 3);
  check_overlaps(op_, tensors_, 3, false);
  axis_ = Dims::checked(axis_, x_.ndim());
  const int n_index_ = index_.ndim(), ndim_ = x_.ndim() - 1 + n_index_;
  bool fits_ = picked_.ndim() == ndim_;
  View of_x_, of_index_, of_picked_;
  of_x_.take(x_), of_index_.take(index_), of_picked_.take(picked_);
  LoopShape shape_, beside_, along_;
  shape_.ndim = ndim_ <= TARSIA_MAX_NDIM ? ndim_ : 0;
  for (int i_ = 0; fits_ && i_ < ndim_; ++i_) {
    const int j_ = i_ - axis_, k_ = j_ < n_index_ ? i_ : i_ - n_index_ + 1;
    const bool is_index_ = j_ >= 0 && j_ < n_index_;
    shape_.shape[i_] = is_index_ ? index_.size(j_) : x_.size(k_);
    fits_ = picked_.size(i_) == shape_.shape[i_];
  }
  if (!fits_)
    throw ValueError(Message("math::")
                     << op_ << ": '" << tensors_[2].name << "' has shape "
                     << ::tarsia::detail::shape_of(picked_.get()) << ", which is not that of '"
                     << tensors_[0].name << "' with the shape of 'index' in the place of axis "
                     << static_cast<long long>(axis_));
  const int type_ = type_of(op_, tensors_[0].name, x_.dtype()),
            index_type_ = type_of(op_, "index", index_.dtype());
  if (index_type_ < k_int8 || index_type_ > k_uint64)
    throw TypeError(Message("math::") << op_ << ": 'index' holds no integers");
  p_.x = side_of(x_.get(), type_), p_.index = side_of(index_.get(), index_type_);
  p_.picked = p_.picked_along = side_of(picked_.get(), type_of(op_, tensors_[2].name, picked_.dtype()));
  p_.extent = x_.size(axis_), p_.step = x_.stride(axis_);
  p_.on_gpu = x_.is_gpu();
  const Operand operand_(scatter_ ? picked_ : x_);
  p_.computed = computed_as(&operand_, scatter_ ? &p_.picked.type : &p_.x.type, 1, false);
  // Views of one shape: x stands still along the index, and the index beside it.
  for (int i_ = 0; i_ < ndim_; ++i_) {
    const int j_ = i_ - axis_, k_ = j_ < n_index_ ? i_ : i_ - n_index_ + 1;
    const bool is_index_ = j_ >= 0 && j_ < n_index_;
    of_x_.shape[i_] = of_index_.shape[i_] = shape_.shape[i_];
    of_x_.strides[i_] = is_index_ ? 0 : x_.stride(k_);
    of_index_.strides[i_] = is_index_ ? index_.stride(j_) : 0;
  }
  of_x_.tensor.ndim = of_index_.tensor.ndim = ndim_;
  if (!scatter_) {
    const LoopTensor all_[] = {
        {&of_x_.tensor, "", false}, {&of_index_.tensor, "", false}, {&of_picked_.tensor, "", true}};
    char* data_[3];
    long long strides_[3][k_loop_dims];
    ::tarsia::detail::plan_elementwise(op_, all_, 3, 2, shape_, false, false, p_.dims, data_, strides_);
    for (int d_ = 0; d_ < k_loop_dims; ++d_)
      p_.x.strides[d_] = strides_[0][d_], p_.index.strides[d_] = strides_[1][d_],
      p_.picked.strides[d_] = strides_[2][d_];
    return;
  }
  // Two loops: over what is beside the axis, and over the indices.
  View parts_[4];
  const Tensor of_[] = {of_x_.get(), picked_, of_index_.get(), picked_};
  for (int v_ = 0; v_ < 4; ++v_) {
    parts_[v_].take(of_[v_]);
    LoopShape& to_ = v_ < 2 ? beside_ : along_;
    to_.ndim = 0;
    for (int i_ = 0; i_ < ndim_; ++i_) {
      if ((i_ >= axis_ && i_ < axis_ + n_index_) != (v_ >= 2)) continue;
      parts_[v_].strides[to_.ndim] = of_[v_].stride(i_);
      parts_[v_].shape[to_.ndim] = to_.shape[to_.ndim] = shape_.shape[i_];
      ++to_.ndim;
    }
    parts_[v_].tensor.ndim = to_.ndim;
  }
  for (int v_ = 0; v_ < 4; v_ += 2) {
    const LoopTensor all_[] = {{&parts_[v_].tensor, "", true}, {&parts_[v_ + 1].tensor, "", false}};
    char* data_[2];
    long long strides_[2][k_loop_dims];
    ::tarsia::detail::plan_elementwise(op_, all_, 2, 0, v_ ? along_ : beside_, v_ != 0, false,
                                       v_ ? p_.along : p_.beside, data_, strides_);
    for (int d_ = 0; d_ < k_loop_dims; ++d_) {
      (v_ ? p_.index : p_.x).strides[d_] = strides_[0][d_];
      (v_ ? p_.picked_along : p_.picked).strides[d_] = strides_[1][d_];
    }
  }
}

[[noreturn]] TARSIA_DETAIL_SUPPORT void out_of_range(const char* op_, long long at_, long long extent_) {
  throw IndexError(Message("math::") << op_ << ": index " << at_ << " is none of an axis of " << extent_
                                     << " elements");
}
/// An index from the end is one from the start. Throws IndexError.
inline long long index_at(const char* op_, const Side& index_, long long at_, long long extent_) {
  long long i_;
  load_row(index_, at_, 1, 1, &i_);
  const long long j_ = i_ < 0 && index_.type != k_uint64 ? i_ + extent_ : i_;
  if (j_ < 0 || j_ >= extent_) out_of_range(op_, i_, extent_);
  return j_;
}

template <class C_>
void gather_as(const char* op_, const GatherPlan& p_, const On& on_, int request_) {
  if (!p_.on_gpu) {
    C_ row_[k_row];
    const int last_ = p_.dims.ndim - 1;
    LoopCursor at_(p_.dims, 0);
    for (long long k_ = 0; k_ < p_.dims.count;) {
      const bool one_ = p_.index.strides[last_] == 0;  // the whole run has one index
      const long long run_ = at_.left(p_.dims) < k_row ? at_.left(p_.dims) : static_cast<long long>(k_row);
      const long long x_ = at_.offset(p_.dims, p_.x.strides), i_ = at_.offset(p_.dims, p_.index.strides);
      if (one_)
        load_row(p_.x, x_ + index_at(op_, p_.index, i_, p_.extent) * p_.step, p_.x.strides[last_], run_,
                 row_);
      else
        for (long long j_ = 0; j_ < run_; ++j_)
          load_row(p_.x,
                   x_ + j_ * p_.x.strides[last_] +
                       index_at(op_, p_.index, i_ + j_ * p_.index.strides[last_], p_.extent) * p_.step,
                   1, 1, row_ + j_);
      put_row(p_.picked, at_.offset(p_.dims, p_.picked.strides), p_.picked.strides[last_], run_, row_,
              request_);
      at_.advance(p_.dims, run_);
      k_ += run_;
    }
    return;
  }
#if TARSIA_DETAIL_MATH_CUDA
  gather_elements<C_><<<blocks(p_.dims.count), k_threads, 0, on_.stream()>>>(
      p_.dims, p_.x, p_.index, p_.picked, p_.extent, p_.step, request_);
#else
  (void)on_;
  needs_cuda(op_);
#endif
}
template <class C_>
void scatter_as(const char* op_, const GatherPlan& p_, const On& on_) {
  if (!p_.on_gpu) {
    C_ row_[k_row];
    const int last_ = p_.beside.ndim - 1;
    LoopCursor j_(p_.along, 0);
    for (long long n_ = 0; n_ < p_.along.count; ++n_) {
      const long long to_ =
          index_at(op_, p_.index, j_.offset(p_.along, p_.index.strides), p_.extent) * p_.step;
      const long long from_ = j_.offset(p_.along, p_.picked_along.strides);
      LoopCursor at_(p_.beside, 0);
      for (long long k_ = 0; k_ < p_.beside.count;) {
        const long long run_ =
            at_.left(p_.beside) < k_row ? at_.left(p_.beside) : static_cast<long long>(k_row);
        load_row(p_.picked, from_ + at_.offset(p_.beside, p_.picked.strides), p_.picked.strides[last_], run_,
                 row_);
        put_row(p_.x, to_ + at_.offset(p_.beside, p_.x.strides), p_.x.strides[last_], run_, row_, 3);
        at_.advance(p_.beside, run_);
        k_ += run_;
      }
      j_.advance(p_.along, 1);
    }
    return;
  }
#if TARSIA_DETAIL_MATH_CUDA
  scatter_elements<C_><<<blocks(p_.beside.count), k_threads, 0, on_.stream()>>>(
      p_.beside, p_.along, p_.x, p_.picked, p_.picked_along, p_.index, p_.extent, p_.step);
#else
  (void)on_;
  needs_cuda(op_);
#endif
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
