// The routines of <tarsia/math.h> as ops with gradients: add, exp, sum, softmax, dot and the like. A source
// declares those that it wants; from Python, tarsia.ops has them without a source.
//
//   #include <tarsia/math/ops.h>
//   TARSIA_MATH_OP(exp);
//   TARSIA_MATH_OP(dot);
//
// Inputs broadcast by NumPy's rules. All inputs of an op have one dtype, and so has its result, except where
// the op says otherwise. Every write request is honoured. Gradients are of float tensors.
#pragma once

#include <tarsia/math.h>

#if !defined(__CUDACC_RTC__)

#include <tarsia/op.h>

#include <string>
#include <vector>

#include <tarsia/detail/macros_push.h>

namespace tarsia {
namespace math {
namespace ops {

// ---- inference ----

/// Gives an output its shape. Throws ValueError if it has another.
inline void unify_with(Meta output_, const Dims& shape_) {
  tarsia_meta own_ = tarsia_meta();
  Meta(&own_).set_shape(shape_);
  unify_shape(Meta(&own_), output_);
}

/// The shape to which n inputs broadcast.
inline void infer_broadcast(BindInfo& info_, int n_) {
  int64_t shape_[TARSIA_MAX_NDIM];
  int ndim_ = 0;
  for (int j_ = 0; j_ < n_; ++j_) {
    const Meta in_ = info_.input(j_);
    if (!in_.has_shape()) return;
    if (in_.ndim() > ndim_) {
      const int more_ = in_.ndim() - ndim_;
      for (int i_ = ndim_ - 1; i_ >= 0; --i_) shape_[i_ + more_] = shape_[i_];
      for (int i_ = 0; i_ < more_; ++i_) shape_[i_] = 1;
      ndim_ = in_.ndim();
    }
    for (int i_ = 0; i_ < in_.ndim(); ++i_) {
      int64_t &to_ = shape_[ndim_ - in_.ndim() + i_], mine_ = in_.size(i_);
      if (mine_ == 1 || mine_ == to_) continue;
      if (to_ == 1 || to_ < 0)
        to_ = to_ < 0 && mine_ < 0 ? -1 : mine_;
      else if (mine_ >= 0)
        throw ValueError((Message("shape ") << in_)
                         << " of input " << static_cast<long long>(j_)
                         << " does not broadcast to those before it: counted from the "
                            "end, extents have to be equal or 1");
    }
  }
  unify_with(info_.output(0), Dims(shape_, ndim_));
}

/// One dtype of inputs first_ … n - 1 and of the output.
inline void same_dtypes(BindInfo& info_, int first_, int n_) {
  for (int round_ = 0; round_ < 2; ++round_)
    for (int j_ = first_; j_ < n_; ++j_) unify_dtype(info_.input(j_), info_.output(0));
}
/// One dtype of n inputs and of the output; of whole inputs, the output is float64.
inline void real_dtypes(BindInfo& info_, int n_) {
  for (int round_ = 0; round_ < 2; ++round_)
    for (int j_ = 1; j_ < n_; ++j_) unify_dtype(info_.input(j_ - 1), info_.input(j_));
  const Meta x_ = info_.input(0), y_ = info_.output(0);
  const int code_ = x_.dtype().code;
  if (!x_.has_dtype() || (code_ != TARSIA_BOOL && code_ != TARSIA_INT && code_ != TARSIA_UINT))
    same_dtypes(info_, 0, n_);
  else if (!y_.has_dtype())
    y_.set_dtype(float64);
}
/// The output is a place.
inline void places(BindInfo& info_) {
  if (!info_.output(0).has_dtype()) info_.output(0).set_dtype(int64);
}
/// Inputs of one dtype give a bool.
inline void tests(BindInfo& info_, int n_) {
  for (int round_ = 0; round_ < 2; ++round_)
    for (int j_ = 1; j_ < n_; ++j_) unify_dtype(info_.input(j_ - 1), info_.input(j_));
  if (!info_.output(0).has_dtype()) info_.output(0).set_dtype(bool8);
}

struct Reduce {
  std::vector<int64_t> axes;
  bool keepdims = false;
};
inline void infer_reduction(BindInfo& info_) {
  const Meta x_ = info_.input(0);
  if (!x_.has_shape()) return;
  const Reduce& how_ = info_.params<Reduce>();
  const int64_t mask_ = detail::mask_of(info_.op(), how_.axes, x_.ndim());
  int64_t shape_[TARSIA_MAX_NDIM];
  int n_ = 0;
  for (int i_ = 0; i_ < x_.ndim(); ++i_) {
    const bool gone_ = (mask_ >> i_ & 1) != 0;
    if (!gone_ || how_.keepdims) shape_[n_++] = gone_ ? 1 : x_.size(i_);
  }
  unify_with(info_.output(0), Dims(shape_, n_));
}

struct Along {
  int axis = -1;
};
struct Taken {
  int axis = 0;
};
struct Permutation {
  std::vector<int64_t> axes;
};
inline void infer_transpose(BindInfo& info_) {
  same_dtypes(info_, 0, 1);
  const Meta x_ = info_.input(0);
  if (!x_.has_shape()) return;
  const std::vector<int64_t>& axes_ = info_.params<Permutation>().axes;
  const int n_ = x_.ndim();
  if (!axes_.empty() && static_cast<int>(axes_.size()) != n_)
    throw ValueError(Message("there are ") << static_cast<long long>(axes_.size()) << " axes for "
                                           << static_cast<long long>(n_) << " dimensions");
  if (!axes_.empty()) detail::mask_of("transpose", axes_, n_);
  int64_t shape_[TARSIA_MAX_NDIM];
  for (int i_ = 0; i_ < n_; ++i_)
    shape_[i_] = x_.size(axes_.empty() ? n_ - 1 - i_
                                       : Dims::checked(static_cast<int>(axes_[static_cast<size_t>(i_)]), n_));
  unify_with(info_.output(0), Dims(shape_, n_));
}

inline void infer_gather(BindInfo& info_) {
  same_dtypes(info_, 0, 1);
  const Meta x_ = info_.input(0), index_ = info_.input(1);
  if (!x_.has_shape() || !index_.has_shape()) return;
  const int axis_ = Dims::checked(info_.params<Taken>().axis, x_.ndim());
  if (x_.ndim() - 1 + index_.ndim() > TARSIA_MAX_NDIM)
    throw ValueError("the result has more than 32 dimensions");
  int64_t shape_[TARSIA_MAX_NDIM];
  int n_ = 0;
  for (int i_ = 0; i_ < axis_; ++i_) shape_[n_++] = x_.size(i_);
  for (int i_ = 0; i_ < index_.ndim(); ++i_) shape_[n_++] = index_.size(i_);
  for (int i_ = axis_ + 1; i_ < x_.ndim(); ++i_) shape_[n_++] = x_.size(i_);
  unify_with(info_.output(0), Dims(shape_, n_));
}

struct Product {
  bool transpose_a = false, transpose_b = false;
};
inline void infer_product(BindInfo& info_, bool batches_) {
  same_dtypes(info_, 0, 2);
  const Meta a_ = info_.input(0), b_ = info_.input(1);
  if (!a_.has_shape() || !b_.has_shape()) return;
  const Product& how_ = info_.params<Product>();
  if (!a_.ndim() || !b_.ndim()) throw ValueError("a scalar is no matrix: multiply takes one");
  if (!batches_ && (a_.ndim() > 2 || b_.ndim() > 2))
    throw ValueError("dot multiplies vectors and matrices; batch_dot takes batches of them");
  const int64_t k_ = a_.ndim() > 1 ? a_.size(how_.transpose_a ? -2 : -1) : a_.size(0),
                l_ = b_.ndim() > 1 ? b_.size(how_.transpose_b ? -1 : -2) : b_.size(0);
  if (k_ >= 0 && l_ >= 0 && k_ != l_)
    throw ValueError((Message("shapes ") << a_ << " and " << b_)
                     << " do not go together: there are " << static_cast<long long>(k_)
                     << " columns on the left, and " << static_cast<long long>(l_) << " rows on the right");
  int64_t shape_[TARSIA_MAX_NDIM];
  const int batch_a_ = a_.ndim() > 2 ? a_.ndim() - 2 : 0, batch_b_ = b_.ndim() > 2 ? b_.ndim() - 2 : 0;
  int n_ = batch_a_ > batch_b_ ? batch_a_ : batch_b_;
  for (int i_ = 0; i_ < n_; ++i_) {
    const int x_ = i_ - (n_ - batch_a_), y_ = i_ - (n_ - batch_b_);
    const int64_t p_ = x_ < 0 ? 1 : a_.size(x_), q_ = y_ < 0 ? 1 : b_.size(y_);
    if (p_ >= 0 && q_ >= 0 && p_ != q_ && p_ != 1 && q_ != 1)
      throw ValueError((Message("batches of shapes ") << a_ << " and " << b_) << " do not broadcast");
    shape_[i_] = p_ == 1 ? q_ : p_;
  }
  if (a_.ndim() > 1) shape_[n_++] = a_.size(how_.transpose_a ? -1 : -2);
  if (b_.ndim() > 1) shape_[n_++] = b_.size(how_.transpose_b ? -2 : -1);
  unify_with(info_.output(0), Dims(shape_, n_));
}

// ---- gradients ----

/// The gradient of what was broadcast: f(dy, inputs, y) summed to the shape of the input.
template <class F_, int n_>
void put_gradient(Context& c_, int which_, const F_& f_, const Operand (&of_)[n_]) {
  const Request request_ = c_.request(which_);
  if (request_ == Request::null) return;
  const Tensor dx_ = c_.output(which_), dy_ = c_.out_grad(0);
  if (dx_.shape() == dy_.shape()) return detail::map("gradient", f_, dx_, of_, c_, request_);
  const Tensor room_ = c_.scratch_tensor(dy_.shape(), dy_.dtype());
  detail::map("gradient", f_, room_, of_, c_, Request::write);
  sum_to(dx_, room_, c_, request_);
}
template <class F_, class G_>
struct Unary {
  static void forward(Context& c_) {
    detail::map(c_.info().op(), F_(), c_.output(0), {Operand(c_.input(0))}, c_, c_.request(0));
  }
  static void backward(Context& c_) {
    if (c_.request(0) == Request::null) return;
    detail::map(c_.info().op(), G_(), c_.output(0),
                {Operand(c_.out_grad(0)), Operand(c_.forward_input(0)), Operand(c_.forward_output(0))}, c_,
                c_.request(0));
  }
};
template <class F_, class A_, class B_>
struct Binary {
  static void forward(Context& c_) {
    detail::map(c_.info().op(), F_(), c_.output(0), {Operand(c_.input(0)), Operand(c_.input(1))}, c_,
                c_.request(0));
  }
  static void backward(Context& c_) {
    const Operand of_[] = {c_.out_grad(0), c_.forward_input(0), c_.forward_input(1), c_.forward_output(0)};
    put_gradient(c_, 0, A_(), of_);
    put_gradient(c_, 1, B_(), of_);
  }
};
template <class Only_ = void>
void forward_where(Context& c_) {
  where(c_.output(0), c_.input(0), c_.input(1), c_.input(2), c_, c_.request(0));
}
template <class Only_ = void>
void backward_where(Context& c_) {
  put_gradient(c_, 1, functors::where(), {Operand(c_.forward_input(0)), Operand(c_.out_grad(0)), Operand(0)});
  put_gradient(c_, 2, functors::where(), {Operand(c_.forward_input(0)), Operand(0), Operand(c_.out_grad(0))});
  if (c_.request(0) == Request::write || c_.request(0) == Request::inplace) fill(c_.output(0), 0, c_);
}

/// A tensor with extents of 1 where x was reduced.
inline Tensor with_reduced(const Tensor& t_, const Context& c_, detail::View& view_) {
  const Dims x_ = c_.info().input(0).shape();
  const int64_t mask_ = detail::mask_of("reduction", c_.params<Reduce>().axes, x_.size());
  const bool keeps_ = t_.ndim() == x_.size();
  int from_ = 0;
  detail::View of_(t_);
  view_.take(t_);
  for (int i_ = 0; i_ < x_.size(); ++i_) {
    const bool gone_ = (mask_ >> i_ & 1) != 0;
    view_.shape[i_] = gone_ ? 1 : of_.shape[from_];
    view_.strides[i_] = gone_ ? 0 : of_.strides[from_];
    from_ += keeps_ || !gone_;
  }
  view_.tensor.ndim = x_.size();
  return view_.get();
}
/// dy / n for each element.
struct shared {
  enum { is_real = 1, n = 2 };
  template <class C_>
  TARSIA_HOST_DEVICE C_ operator()(C_ dy_, C_ n_) const {
    return dy_ / n_;
  }
};
/// Whether x is the extreme. NaN is.
struct is_extreme {
  enum { is_real = 0, n = 2 };
  template <class C_>
  TARSIA_HOST_DEVICE C_ operator()(C_ x_, C_ y_) const {
    return C_(x_ == y_ || (x_ != x_ && y_ != y_));
  }
};
/// dy where x is the extreme, shared by all such places.
struct of_extreme {
  enum { is_real = 1, n = 4 };
  template <class C_>
  TARSIA_HOST_DEVICE C_ operator()(C_ dy_, C_ x_, C_ y_, C_ n_) const {
    return is_extreme()(x_, y_) != C_(0) ? dy_ / n_ : C_(0);
  }
};
/// The product of all other elements, from that of those that are not 0 and the number of the others.
struct of_product {
  enum { is_real = 1, n = 4 };
  template <class C_>
  TARSIA_HOST_DEVICE C_ operator()(C_ dy_, C_ x_, C_ others_, C_ zeros_) const {
    if (x_ == C_(0)) return zeros_ == C_(1) ? dy_ * others_ : C_(0);
    return zeros_ == C_(0) ? dy_ * others_ / x_ : C_(0);
  }
};
template <class Only_ = void>
void backward_sum(Context& c_) {
  if (c_.request(0) == Request::null) return;
  detail::View view_;
  copy(c_.output(0), with_reduced(c_.out_grad(0), c_, view_), c_, c_.request(0));
}
template <class Only_ = void>
void backward_mean(Context& c_) {
  if (c_.request(0) == Request::null) return;
  detail::View view_;
  const int64_t n_ = c_.out_grad(0).numel(), all_ = c_.output(0).numel();
  detail::map(
      "mean", shared(), c_.output(0),
      {Operand(with_reduced(c_.out_grad(0), c_, view_)), Operand(static_cast<long long>(n_ ? all_ / n_ : 1))},
      c_, c_.request(0));
}
template <class Only_ = void>
void backward_extreme(Context& c_) {
  if (c_.request(0) == Request::null) return;
  detail::View dy_, y_, n_;
  const Tensor x_ = c_.forward_input(0), out_ = c_.forward_output(0);
  with_reduced(out_, c_, y_);
  const Tensor is_ = c_.scratch_tensor(x_.shape(), bool8), counts_ = c_.scratch_tensor(out_.shape(), int64);
  detail::map("extreme", is_extreme(), is_, {Operand(x_), Operand(y_.get())}, c_, Request::write);
  detail::reduce<functors::sum<false>>("extreme", counts_, is_,
                                       detail::mask_of("extreme", c_.params<Reduce>().axes, x_.ndim()), false,
                                       c_, Request::write);
  detail::map("extreme", of_extreme(), c_.output(0),
              {Operand(with_reduced(c_.out_grad(0), c_, dy_)), Operand(x_), Operand(y_.get()),
               Operand(with_reduced(counts_, c_, n_))},
              c_, c_.request(0));
}
template <class Only_ = void>
void backward_prod(Context& c_) {
  if (c_.request(0) == Request::null) return;
  detail::View dy_, p_, n_;
  const Tensor x_ = c_.forward_input(0), out_ = c_.out_grad(0);
  const Tensor is_ = c_.scratch_tensor(x_.shape(), bool8), counts_ = c_.scratch_tensor(out_.shape(), int64),
               others_ = c_.scratch_tensor(x_.shape(), x_.dtype()),
               product_ = c_.scratch_tensor(out_.shape(), out_.dtype());
  const int64_t mask_ = detail::mask_of("prod", c_.params<Reduce>().axes, x_.ndim());
  detail::map("prod", functors::equal(), is_, {Operand(x_), Operand(0)}, c_, Request::write);
  detail::map("prod", functors::where(), others_, {Operand(is_), Operand(1), Operand(x_)}, c_,
              Request::write);
  detail::reduce<functors::sum<false>>("prod", counts_, is_, mask_, false, c_, Request::write);
  detail::reduce<functors::prod>("prod", product_, others_, mask_, false, c_, Request::write);
  detail::map("prod", of_product(), c_.output(0),
              {Operand(with_reduced(out_, c_, dy_)), Operand(x_), Operand(with_reduced(product_, c_, p_)),
               Operand(with_reduced(counts_, c_, n_))},
              c_, c_.request(0));
}
template <bool log_>
struct Softmax {
  static void forward(Context& c_) {
    detail::softmax<log_>(c_.info().op(), c_.output(0), c_.input(0), c_.params<Along>().axis, c_,
                          c_.request(0));
  }
  static void backward(Context& c_) {
    detail::softmax_gradient<log_>(c_.info().op(), c_.output(0), c_.out_grad(0), c_.forward_output(0),
                                   c_.params<Along>().axis, c_, c_.request(0));
  }
};
template <class Only_ = void>
void forward_transpose(Context& c_) {
  transpose(c_.output(0), c_.input(0), c_.params<Permutation>().axes, c_, c_.request(0));
}
template <class Only_ = void>
void backward_transpose(Context& c_) {
  const std::vector<int64_t>& axes_ = c_.params<Permutation>().axes;
  std::vector<int64_t> back_(axes_.size());
  for (size_t i_ = 0; i_ < axes_.size(); ++i_)
    back_[static_cast<size_t>(Dims::checked(static_cast<int>(axes_[i_]), static_cast<int>(axes_.size())))] =
        static_cast<int64_t>(i_);
  transpose(c_.output(0), c_.out_grad(0), back_, c_, c_.request(0));
}
template <class Only_ = void>
void forward_gather(Context& c_) {
  gather(c_.output(0), c_.input(0), c_.input(1), c_.params<Taken>().axis, c_, c_.request(0));
}
template <class Only_ = void>
void backward_gather(Context& c_) {
  if (c_.request(0) != Request::null) {
    if (c_.request(0) != Request::add) fill(c_.output(0), 0, c_);
    scatter_add(c_.output(0), c_.forward_input(1), c_.out_grad(0), c_.params<Taken>().axis, c_);
  }
  if (c_.request(1) == Request::write || c_.request(1) == Request::inplace) fill(c_.output(1), 0, c_);
}

/// A view as a matrix: a vector on the left is a row, one on the right a column.
inline void as_matrix(const Tensor& t_, bool row_, detail::View& view_) {
  view_.take(t_);
  if (t_.ndim() != 1) return;
  const int one_ = row_ ? 0 : 1;
  view_.shape[1 - one_] = t_.size(0), view_.strides[1 - one_] = t_.stride(0);
  view_.shape[one_] = 1, view_.strides[one_] = 0;
  view_.tensor.ndim = 2;
}
/// dx = the product of dy and the other input, summed to the shape of x.
template <class Only_ = void>
void product_gradient(Context& c_, int which_, const Tensor& left_, const Tensor& right_, bool ta_,
                      bool tb_) {
  const Request request_ = c_.request(which_);
  if (request_ == Request::null) return;
  detail::View to_;
  as_matrix(c_.output(which_), which_ == 0, to_);
  int64_t shape_[TARSIA_MAX_NDIM];
  int n_ = (left_.ndim() > right_.ndim() ? left_ : right_).ndim();
  bool same_ = n_ == to_.tensor.ndim;
  for (int i_ = 0; i_ < n_ - 2; ++i_) {
    const int x_ = i_ - (n_ - left_.ndim()), y_ = i_ - (n_ - right_.ndim());
    const int64_t p_ = x_ < 0 ? 1 : left_.size(x_), q_ = y_ < 0 ? 1 : right_.size(y_);
    shape_[i_] = p_ == 1 ? q_ : p_;
    same_ = same_ && shape_[i_] == to_.shape[i_];
  }
  if (same_) return detail::product("gradient", to_.get(), left_, right_, ta_, tb_, c_, request_);
  shape_[n_ - 2] = to_.shape[to_.tensor.ndim - 2], shape_[n_ - 1] = to_.shape[to_.tensor.ndim - 1];
  const Tensor room_ = c_.scratch_tensor(Dims(shape_, n_), left_.dtype());
  detail::product("gradient", room_, left_, right_, ta_, tb_, c_, Request::write);
  sum_to(to_.get(), room_, c_, request_);
}
template <class Only_ = void>
void forward_product(Context& c_) {
  const Product& how_ = c_.params<Product>();
  detail::product(c_.info().op(), c_.output(0), c_.input(0), c_.input(1), how_.transpose_a, how_.transpose_b,
                  c_, c_.request(0));
}
template <class Only_ = void>
void backward_product(Context& c_) {
  const Product& how_ = c_.params<Product>();
  const Tensor a_ = c_.forward_input(0), b_ = c_.forward_input(1), dy_ = c_.out_grad(0);
  const bool ta_ = how_.transpose_a && a_.ndim() > 1, tb_ = how_.transpose_b && b_.ndim() > 1;
  detail::View left_(a_), right_(b_), between_(dy_);
  as_matrix(a_, true, left_), as_matrix(b_, false, right_);
  // The gradient gets back the dimensions of vectors.
  if (b_.ndim() == 1) {
    between_.shape[between_.tensor.ndim] = 1, between_.strides[between_.tensor.ndim++] = 0;
  }
  if (a_.ndim() == 1) {
    for (int i_ = between_.tensor.ndim++; i_ > between_.tensor.ndim - 2; --i_)
      between_.shape[i_] = between_.shape[i_ - 1], between_.strides[i_] = between_.strides[i_ - 1];
    between_.shape[between_.tensor.ndim - 2] = 1, between_.strides[between_.tensor.ndim - 2] = 0;
  }
  const Tensor d_ = between_.get();
  if (ta_)
    product_gradient(c_, 0, right_.get(), d_, tb_, true);
  else
    product_gradient(c_, 0, d_, right_.get(), false, !tb_);
  if (tb_)
    product_gradient(c_, 1, d_, left_.get(), true, ta_);
  else
    product_gradient(c_, 1, left_.get(), d_, !ta_, false);
}

template <class R_>
struct Reduction {
  template <bool real_>
  static void forward(Context& c_) {
    detail::reduce<R_>(c_.info().op(), c_.output(0), c_.input(0),
                       detail::mask_of(c_.info().op(), c_.params<Reduce>().axes, c_.input(0).ndim()), real_,
                       c_, c_.request(0));
  }
};

/// A number of an attribute: a whole one where it is one, which keeps whole tensors whole.
inline Operand number_of(double value_) {
  const bool is_whole_ = value_ > -9e15 && value_ < 9e15 && value_ == static_cast<long long>(value_) &&
                         !(value_ == 0 && __builtin_signbit(value_));
  return is_whole_ ? Operand(static_cast<long long>(value_)) : Operand(value_);
}
struct Bounds {
  double low = 0, high = 1;
};
template <class Only_ = void>
void forward_clip(Context& c_) {
  const Bounds& b_ = c_.params<Bounds>();
  clip(c_.output(0), c_.input(0), number_of(b_.low), number_of(b_.high), c_, c_.request(0));
}
template <class Only_ = void>
void backward_clip(Context& c_) {
  if (c_.request(0) == Request::null) return;
  const Bounds& b_ = c_.params<Bounds>();
  detail::map("clip", functors::clip_gradient(), c_.output(0),
              {Operand(c_.out_grad(0)), Operand(c_.forward_input(0)), Operand(b_.low), Operand(b_.high)}, c_,
              c_.request(0));
}
struct Value {
  double value = 0;
};
/// A tensor of whole numbers takes no fraction, which it would cut off, nor a number beyond its range.
inline void infer_fill(BindInfo& info_) {
  unify_shape(info_.input(0), info_.output(0));
  same_dtypes(info_, 0, 1);
  const double value_ = info_.params<Value>().value;
  const Meta y_ = info_.output(0);
  if (!y_.has_dtype()) return;
  const DType d_ = y_.dtype();
  char text_[16];
  if (d_.code != TARSIA_INT && d_.code != TARSIA_UINT) return;
  if (value_ != __builtin_floor(value_))
    throw ValueError(Message("value is no whole number, and x is ")
                     << name_of(d_, text_) << ": cast x to float32 or float64 first");
  const double end_ = __builtin_ldexp(1, d_.code == TARSIA_INT ? d_.bits - 1 : d_.bits);
  if (value_ < (d_.code == TARSIA_INT ? -end_ : 0) || value_ >= end_)
    throw ValueError(Message("value is beyond the range of x, which is ")
                     << name_of(d_, text_) << ": cast x to a wider type first");
}
template <class Only_ = void>
void forward_fill(Context& c_) {
  fill(c_.output(0), number_of(c_.params<Value>().value), c_, c_.request(0));
}
template <class Only_ = void>
void backward_fill(Context& c_) {
  if (c_.request(0) == Request::write || c_.request(0) == Request::inplace) fill(c_.output(0), 0, c_);
}
template <class Only_ = void>
void forward_cast(Context& c_) {
  cast(c_.output(0), c_.input(0), c_, c_.request(0));
}
template <class Only_ = void>
void backward_cast(Context& c_) {
  if (c_.request(0) != Request::null) cast(c_.output(0), c_.out_grad(0), c_, c_.request(0));
}
struct To {
  std::string dtype = "float32";
};
inline void infer_cast(BindInfo& info_) {
  unify_shape(info_.input(0), info_.output(0));
  const std::string& name_ = info_.params<To>().dtype;
  const DType d_ = ::tarsia::detail::dtype_named(name_.data(), name_.size());
  if (d_.lanes && ::tarsia::detail::is_computed_with(d_.code)) return info_.output(0).set_dtype(d_);
  throw ValueError(Message("there is no dtype '")
                   << name_.c_str() << "': write bool, int32, float16 or the like");
}

/// Whether the op does the same to each element wherever it lies.
enum Kind { whole, elementwise };

/// Adds an implementation for the CPU and, in sources with CUDA, for GPUs.
template <Kind kind_ = whole, class F_>
OpDefinition& forward_of(OpDefinition& op_, F_ f_) {
  for (const char* device_ : {"cpu", TARSIA_DETAIL_MATH_CUDA ? "gpu" : ""}) {
    if (!*device_) continue;
    op_.forward(device_, f_).honours_requests().any_strides();
    if (kind_ == elementwise) op_.any_layout();
  }
  return op_;
}
template <Kind kind_ = whole, class F_>
OpDefinition& backward_of(OpDefinition& op_, F_ f_) {
  for (const char* device_ : {"cpu", TARSIA_DETAIL_MATH_CUDA ? "gpu" : ""}) {
    if (!*device_) continue;
    op_.backward(device_, f_).honours_requests().any_strides();
    if (kind_ == elementwise) op_.any_layout();
  }
  return op_;
}

}  // namespace ops
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>

#include <tarsia/math/registered.h>

/// Declares the op of a routine, under its name. Stands at namespace scope.
#define TARSIA_MATH_OP(name_)                                                                      \
  __attribute__((unused)) static ::tarsia::OpDefinition& TARSIA_DETAIL_JOIN(tarsia_op_definition_, \
                                                                            __COUNTER__) =         \
      ::tarsia::math::ops::define_##name_<>(__FILE__ ":" TARSIA_DETAIL_TEXT(__LINE__))

#else
#define TARSIA_MATH_OP(name_) static_assert(true, "")
#endif
