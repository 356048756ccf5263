// Reductions and softmax of <tarsia/math.h>.
#pragma once

#include <tarsia/math/elementwise.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {
namespace detail {

/// The bits of axes; of all, if there are none. Throws IndexError, and ValueError for one that is given
/// twice.
TARSIA_DETAIL_SUPPORT int64_t mask_of(const char* op_, const Dims& axes_, int ndim_) {
  if (!axes_.size()) return ndim_ ? static_cast<int64_t>(~uint64_t(0) >> (64 - ndim_)) : 0;
  int64_t mask_ = 0;
  for (int64_t axis_ : axes_) {
    const int64_t bit_ = int64_t(1) << Dims::checked(static_cast<int>(axis_), ndim_);
    if (mask_ & bit_)
      throw ValueError(Message("math::")
                       << op_ << ": axis " << static_cast<long long>(axis_) << " is given twice");
    mask_ |= bit_;
  }
  return mask_;
}

/// Makes `to_` the view of x with its dimensions in the order of the axes; in reverse, if there are none.
TARSIA_DETAIL_SUPPORT void permute(const View& x_, View& to_, const Dims& axes_) {
  const int n_ = x_.tensor.ndim;
  if (axes_.size() && axes_.size() != n_)
    throw ValueError(Message("math::transpose: there are ")
                     << static_cast<long long>(axes_.size()) << " axes for " << static_cast<long long>(n_)
                     << " dimensions");
  if (axes_.size()) mask_of("transpose", axes_, n_);  // throws if one is missing
  for (int i_ = 0; i_ < n_; ++i_) {
    const int from_ = axes_.size() ? Dims::checked(static_cast<int>(axes_[i_]), n_) : n_ - 1 - i_;
    to_.shape[i_] = x_.shape[from_], to_.strides[i_] = x_.strides[from_];
  }
}

/// Makes the view of an output have the dimensions of x, of extent 1 where x is to be summed. Returns the
/// mask of these.
TARSIA_DETAIL_SUPPORT int64_t as_reduced(const Tensor& out_, const Tensor& x_, View& view_) {
  const int more_ = x_.ndim() - out_.ndim();
  bool fits_ = more_ >= 0;
  int64_t mask_ = 0;
  for (int i_ = 0; fits_ && i_ < x_.ndim(); ++i_) {
    const int64_t extent_ = i_ < more_ ? 1 : out_.size(i_ - more_);
    fits_ = extent_ == 1 || extent_ == x_.size(i_);
    if (extent_ == 1 && x_.size(i_) != 1) mask_ |= int64_t(1) << i_;
    view_.shape[i_] = extent_;
    view_.strides[i_] = i_ < more_ ? 0 : out_.stride(i_ - more_);
  }
  if (!fits_)
    throw ValueError((Message("math::sum_to: 'out' ") << "has shape ")
                     << ::tarsia::detail::shape_of(out_.get()) << ", which does not broadcast to "
                     << ::tarsia::detail::shape_of(x_.get()));
  view_.tensor.ndim = x_.ndim();
  return mask_;
}

/// The two loops of a reduction. `inner` is the input along the second one.
struct ReductionPlan {
  LoopDims kept, reduced;
  Side x, inner, out;
  Computed computed;
  bool on_gpu, by_columns;
};

TARSIA_DETAIL_SUPPORT void plan_reduce(const char* op_, const Tensor& out_, const Tensor& x_, int64_t mask_,
                                       bool real_, bool needs_elements_, ReductionPlan& plan_) {
  const LoopTensor tensors_[] = {{x_.get(), "input 1", false}, {out_.get(), "out", true}};
  check_devices(op_, tensors_, 2);
  check_overlaps(op_, tensors_, 2, false);
  const LoopShape shape_ = ::tarsia::detail::shape_of(x_.get()),
                  without_ = ::tarsia::detail::reduced_shape(shape_, mask_, false),
                  with_ = ::tarsia::detail::reduced_shape(shape_, mask_, true);
  const bool keeps_ = out_.ndim() == shape_.ndim;
  ::tarsia::detail::check_reduced(op_, tensors_ + 1, 1, keeps_ ? with_ : without_);
  const int type_ = type_of(op_, "input 1", x_.dtype());
  plan_.x = plan_.inner = side_of(x_.get(), type_);
  plan_.out = side_of(out_.get(), type_of(op_, "out", out_.dtype()));
  char *data_[1], *to_[1];
  long long kept_[1][k_loop_dims], reduced_[1][k_loop_dims], out_strides_[1][k_loop_dims];
  ::tarsia::detail::plan_reduction(op_, tensors_, 1, 1, false, shape_, mask_, true, plan_.kept, plan_.reduced,
                                   data_, kept_, reduced_, to_, out_strides_);
  for (int d_ = 0; d_ < k_loop_dims; ++d_)
    plan_.x.strides[d_] = kept_[0][d_], plan_.inner.strides[d_] = reduced_[0][d_],
    plan_.out.strides[d_] = out_strides_[0][d_];
  const Operand operand_(x_);
  plan_.computed = computed_as(&operand_, &type_, 1, real_);
  plan_.on_gpu = x_.is_gpu();
  plan_.by_columns = ::tarsia::detail::keeps_neighbours(plan_.kept, plan_.reduced, kept_, reduced_, 1);
  if (needs_elements_ && !plan_.reduced.count && plan_.kept.count)
    throw ValueError(Message("math::") << op_ << ": there are no elements to choose from");
}

/// Each result from its own elements, a row of them at a time.
template <class R_, class C_>
void reduce_each(const ReductionPlan& p_, int request_) {
  in_parts(p_.kept.count, p_.reduced.count * 4, [&](long long begin_, long long end_) {
    C_ room_[k_row];
    const int last_ = p_.reduced.ndim - 1;
    LoopCursor at_(p_.kept, begin_);
    for (long long i_ = begin_; i_ < end_; ++i_) {
      const long long first_ = at_.offset(p_.kept, p_.x.strides);
      functors::seen<C_> all_ = R_::template none<C_>();
      LoopCursor c_(p_.reduced, 0);
      for (long long k_ = 0; k_ < p_.reduced.count;) {
        const long long run_ =
            c_.left(p_.reduced) < k_row ? c_.left(p_.reduced) : static_cast<long long>(k_row);
        const C_* row_ = row_at<C_>(p_.x, first_ + c_.offset(p_.reduced, p_.inner.strides),
                                    p_.inner.strides[last_], run_, room_);
        functors::seen<C_> part_ = R_::template none<C_>();  // rounding errors grow with rows, not elements
        for (long long j_ = 0; j_ < run_; ++j_)
          part_ = R_::both(part_, functors::seen<C_>{row_[j_], k_ + j_});
        all_ = R_::both(all_, part_);
        c_.advance(p_.reduced, run_);
        k_ += run_;
      }
      C_ value_ = R_::result(all_, p_.reduced.count);
      put_row(p_.out, at_.offset(p_.kept, p_.out.strides), 1, 1, &value_, request_);
      at_.advance(p_.kept, 1);
    }
  });
}
/// Results whose elements are neighbours: row after row of elements is added to a row of results.
template <class R_, class C_>
void reduce_columns(const ReductionPlan& p_, int request_) {
  in_parts(p_.kept.count, p_.reduced.count * 4, [&](long long begin_, long long end_) {
    C_ room_[k_row];
    functors::seen<C_> all_[k_row];
    const int last_ = p_.kept.ndim - 1;
    LoopCursor at_(p_.kept, begin_);
    for (long long i_ = begin_; i_ < end_;) {
      long long run_ = at_.left(p_.kept) < end_ - i_ ? at_.left(p_.kept) : end_ - i_;
      if (run_ > k_row) run_ = k_row;
      for (long long j_ = 0; j_ < run_; ++j_) all_[j_] = R_::template none<C_>();
      const long long first_ = at_.offset(p_.kept, p_.x.strides);
      LoopCursor c_(p_.reduced, 0);
      for (long long k_ = 0; k_ < p_.reduced.count; ++k_) {
        const C_* row_ = row_at<C_>(p_.x, first_ + c_.offset(p_.reduced, p_.inner.strides),
                                    p_.x.strides[last_], run_, room_);
        for (long long j_ = 0; j_ < run_; ++j_)
          all_[j_] = R_::both(all_[j_], functors::seen<C_>{row_[j_], k_});
        c_.advance(p_.reduced, 1);
      }
      for (long long j_ = 0; j_ < run_; ++j_) room_[j_] = R_::result(all_[j_], p_.reduced.count);
      put_row(p_.out, at_.offset(p_.kept, p_.out.strides), p_.out.strides[last_], run_, room_, request_);
      at_.advance(p_.kept, run_);
      i_ += run_;
    }
  });
}

/// `G_` is the type of computing on a GPU, `C_` on the CPU, where sums of floats are doubles.
template <class R_, class C_, class G_>
void reduce_as(const char* op_, const ReductionPlan& p_, const On& on_, int request_) {
  if (!p_.on_gpu)
    return p_.by_columns ? reduce_columns<R_, C_>(p_, request_) : reduce_each<R_, C_>(p_, request_);
#if TARSIA_DETAIL_MATH_CUDA
  (void)op_;
  if (p_.by_columns && p_.kept.count >= 4096)
    reduce_by_threads<R_, G_><<<blocks(p_.kept.count), k_threads, 0, on_.stream()>>>(
        p_.kept, p_.reduced, p_.x, p_.inner, p_.out, request_);
  else
    reduce_elements<R_, G_><<<blocks(p_.kept.count, 1), k_threads, 0, on_.stream()>>>(
        p_.kept, p_.reduced, p_.x, p_.inner, p_.out, request_);
#else
  (void)on_;
  needs_cuda(op_);
#endif
}

/// out = the reduction of x over the axes of the mask.
template <class R_>
void reduce(const char* op_, const Tensor& out_, const Tensor& x_, int64_t mask_, bool real_, const On& on_,
            Request request_) {
  if (request_ == Request::null) return;
  ReductionPlan plan_;
  plan_reduce(op_, out_, x_, mask_, real_, R_::needs_elements, plan_);
  if (!plan_.kept.count) return;
  const int how_ = static_cast<int>(request_);
  if (plan_.computed == k_as_float) return reduce_as<R_, double, float>(op_, plan_, on_, how_);
  if (plan_.computed == k_as_double) return reduce_as<R_, double, double>(op_, plan_, on_, how_);
  if (plan_.computed == k_as_int) return reduce_as<R_, long long, long long>(op_, plan_, on_, how_);
  reduce_as<R_, unsigned long long, unsigned long long>(op_, plan_, on_, how_);
}

/// Rows along an axis, of several tensors of one shape: the strides of side j along the axis are its last.
struct RowsPlan {
  LoopDims rows;
  long long length;
  Side side[3];
  Computed computed;
  bool on_gpu;
};

TARSIA_DETAIL_SUPPORT void plan_rows(const char* op_, const Tensor* tensors_, int n_, int axis_,
                                     RowsPlan& plan_) {
  static constexpr const char* k_names[] = {"out", "input 1", "input 2"};
  LoopTensor all_[3];
  View views_[3];
  axis_ = Dims::checked(axis_, tensors_[0].ndim());
  int types_[3];
  for (int j_ = 0; j_ < n_; ++j_) {
    if (tensors_[j_].shape() != tensors_[0].shape())
      throw ValueError(Message("math::") << op_ << ": '" << k_names[j_] << "' has another shape than 'out'");
    all_[j_] = LoopTensor{tensors_[j_].get(), k_names[j_], j_ == 0};
    types_[j_] = type_of(op_, k_names[j_], tensors_[j_].dtype());
  }
  check_devices(op_, all_, n_);
  check_overlaps(op_, all_, n_, true);
  LoopShape shape_;
  shape_.ndim = 0;
  for (int i_ = 0; i_ < tensors_[0].ndim(); ++i_)
    if (i_ != axis_) shape_.shape[shape_.ndim++] = tensors_[0].size(i_);
  for (int j_ = 0; j_ < n_; ++j_) {
    views_[j_].take(tensors_[j_]);
    views_[j_].tensor.ndim = shape_.ndim;
    for (int i_ = axis_; i_ < shape_.ndim; ++i_)
      views_[j_].shape[i_] = views_[j_].shape[i_ + 1], views_[j_].strides[i_] = views_[j_].strides[i_ + 1];
    all_[j_].tensor = &views_[j_].tensor;
  }
  char* data_[3];
  long long strides_[3][k_loop_dims];
  ::tarsia::detail::plan_elementwise(op_, all_, n_, 0, shape_, false, false, plan_.rows, data_, strides_);
  if (plan_.rows.ndim >= k_loop_dims)
    throw ValueError(Message("math::") << op_
                                       << ": the tensors have too many dimensions that cannot be taken "
                                          "together; pass contiguous copies");
  plan_.length = tensors_[0].size(axis_);
  for (int j_ = 0; j_ < n_; ++j_) {
    plan_.side[j_] = side_of(tensors_[j_].get(), types_[j_]);
    for (int d_ = 0; d_ < k_loop_dims - 1; ++d_) plan_.side[j_].strides[d_] = strides_[j_][d_];
    plan_.side[j_].strides[k_loop_dims - 1] = tensors_[j_].stride(axis_);
  }
  const Operand operand_(tensors_[n_ - 1]);
  plan_.computed = computed_as(&operand_, types_ + n_ - 1, 1, true);
  if (n_ == 3 && types_[1] == k_float64) plan_.computed = k_as_double;
  plan_.on_gpu = tensors_[0].is_gpu();
}

/// Calls body(row of the first input, row of the second, room for the result) for each row on the CPU.
template <class C_, class B_>
void for_rows(const RowsPlan& p_, int n_inputs_, int request_, const B_& body_) {
  in_parts(p_.rows.count, p_.length * 16, [&](long long begin_, long long end_) {
    const long long n_ = p_.length, last_ = k_loop_dims - 1;
    const RowMemory memory_(static_cast<size_t>(3 * n_ + 1) * sizeof(C_));
    C_ *to_ = memory_.as<C_>(), *first_ = to_ + n_, *second_ = first_ + n_;
    LoopCursor at_(p_.rows, begin_);
    for (long long i_ = begin_; i_ < end_; ++i_) {
      load_row(p_.side[1], at_.offset(p_.rows, p_.side[1].strides), p_.side[1].strides[last_], n_, first_);
      if (n_inputs_ > 1)
        load_row(p_.side[2], at_.offset(p_.rows, p_.side[2].strides), p_.side[2].strides[last_], n_, second_);
      body_(first_, second_, to_);
      const long long out_ = at_.offset(p_.rows, p_.side[0].strides), step_ = p_.side[0].strides[last_];
      for (long long k_ = 0; k_ < n_; k_ += k_row) {
        const long long run_ = n_ - k_ < k_row ? n_ - k_ : static_cast<long long>(k_row);
        put_row(p_.side[0], out_ + k_ * step_, step_, run_, to_ + k_, request_);
      }
      at_.advance(p_.rows, 1);
    }
  });
}

template <bool log_, class C_>
void softmax_as(const char* op_, const RowsPlan& p_, const On& on_, int request_) {
  if (!p_.on_gpu) {
    const long long n_ = p_.length;
    return for_rows<C_>(p_, 1, request_, [n_](C_* x_, C_*, C_* to_) {
      C_ top_ = x_[0];
      for (long long k_ = 1; k_ < n_; ++k_) top_ = functors::larger(top_, x_[k_]);
      double sum_ = 0;
      for (long long k_ = 0; k_ < n_; ++k_)
        to_[k_] = std::exp(x_[k_] - top_), sum_ += static_cast<double>(to_[k_]);
      const C_ scale_ = static_cast<C_>(log_ ? std::log(sum_) : 1 / sum_);
      for (long long k_ = 0; k_ < n_; ++k_) to_[k_] = log_ ? x_[k_] - top_ - scale_ : to_[k_] * scale_;
    });
  }
#if TARSIA_DETAIL_MATH_CUDA
  (void)op_;
  softmax_rows<log_, C_><<<blocks(p_.rows.count, 1), k_threads, 0, on_.stream()>>>(
      p_.rows, p_.length, p_.side[1], p_.side[0], request_);
#else
  (void)on_;
  needs_cuda(op_);
#endif
}
template <bool log_, class C_>
void softmax_gradient_as(const char* op_, const RowsPlan& p_, const On& on_, int request_) {
  if (!p_.on_gpu) {
    const long long n_ = p_.length;
    return for_rows<C_>(p_, 2, request_, [n_](C_* dy_, C_* y_, C_* to_) {
      double sum_ = 0;
      for (long long k_ = 0; k_ < n_; ++k_) sum_ += static_cast<double>(log_ ? dy_[k_] : dy_[k_] * y_[k_]);
      const C_ all_ = static_cast<C_>(sum_);
      for (long long k_ = 0; k_ < n_; ++k_)
        to_[k_] = log_ ? dy_[k_] - std::exp(y_[k_]) * all_ : (dy_[k_] - all_) * y_[k_];
    });
  }
#if TARSIA_DETAIL_MATH_CUDA
  (void)op_;
  softmax_gradient_rows<log_, C_><<<blocks(p_.rows.count, 1), k_threads, 0, on_.stream()>>>(
      p_.rows, p_.length, p_.side[1], p_.side[2], p_.side[0], request_);
#else
  (void)on_;
  needs_cuda(op_);
#endif
}

template <bool log_>
void softmax(const char* op_, const Tensor& out_, const Tensor& x_, int axis_, const On& on_,
             Request request_) {
  if (request_ == Request::null) return;
  const Tensor tensors_[] = {out_, x_};
  RowsPlan plan_;
  plan_rows(op_, tensors_, 2, axis_, plan_);
  if (!plan_.rows.count || !plan_.length) return;
  const int how_ = static_cast<int>(request_);
  if (plan_.computed == k_as_float) return softmax_as<log_, float>(op_, plan_, on_, how_);
  softmax_as<log_, double>(op_, plan_, on_, how_);
}
template <bool log_>
void softmax_gradient(const char* op_, const Tensor& dx_, const Tensor& dy_, const Tensor& y_, int axis_,
                      const On& on_, Request request_) {
  if (request_ == Request::null) return;
  const Tensor tensors_[] = {dx_, dy_, y_};
  RowsPlan plan_;
  plan_rows(op_, tensors_, 3, axis_, plan_);
  if (!plan_.rows.count || !plan_.length) return;
  const int how_ = static_cast<int>(request_);
  if (plan_.computed == k_as_float) return softmax_gradient_as<log_, float>(op_, plan_, on_, how_);
  softmax_gradient_as<log_, double>(op_, plan_, on_, how_);
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#endif
