// Functions of TH's tensors along a dimension, and over all elements, on the CPU.
#pragma once

#include <tarsia/th/cpu_loops.h>

#include <tarsia/detail/macros_push.h>

#include <math.h>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace th {
namespace cpu {

/// A tensor with one element in a dimension, the first.
struct Starts {
  View view;
  long size[k_most_dims];
  Starts(const View* v_, int dimension_) : view(*v_) {
    if (v_->ndim > k_most_dims) throw ValueError("a tensor of more than 32 dimensions");
    for (int i_ = 0; i_ < v_->ndim; ++i_) size[i_] = i_ == dimension_ ? 1 : v_->size[i_];
    view.size = size;
  }
  Starts(const Starts&) = delete;
};
/// The lines of a tensor along a dimension, in row-major order of the other dimensions.
template <class T_>
class Lines {
 public:
  Lines(const View* v_, int dimension_)
      : m_step(v_->stride[dimension_]),
        m_starts(v_, dimension_),
        m_left(count(&m_starts.view)),
        m_at(&m_starts.view) {}
  ptrdiff_t left() const { return m_left; }
  /// Element i of the line.
  T_& operator[](long i_) const { return (&*m_at)[i_ * m_step]; }
  void next() {
    --m_left;
    m_at.next();
  }

 private:
  long m_step;
  Starts m_starts;
  ptrdiff_t m_left;
  Walk<T_> m_at;
};

/// Gives a result the shape of `t_` with `n_` elements in a dimension. Without `keep_`, that dimension is
/// left out, unless it is the only one.
TARSIA_DETAIL_SUPPORT void resize_along(View* r_, Kind kind_, const View* t_, int dimension_, long n_,
                                        bool keep_) {
  dimension(t_, dimension_);
  if (r_ == t_) throw ValueError("the result is to be another tensor than the operand");
  long size_[k_most_dims];
  int k_ = 0;
  if (t_->ndim > k_most_dims) throw ValueError("a tensor of more than 32 dimensions");
  for (int i_ = 0; i_ < t_->ndim; ++i_)
    if (i_ != dimension_)
      size_[k_++] = t_->size[i_];
    else if (keep_ || t_->ndim == 1)
      size_[k_++] = n_;
  resize(r_, kind_, k_, size_, nullptr);
}

// ---- reductions ----

template <class T_>
double sum_of_line(const Lines<T_>& x_, long n_) {
  double sum_ = 0;
  for (long i_ = 0; i_ < n_; ++i_) sum_ += static_cast<double>(x_[i_]);
  return sum_;
}
/// The sum of the p-th powers, of which norm_of() makes the norm. p = 0 counts what is not 0.
inline double power_for(double x_, double p_) {
  x_ = ::fabs(x_);
  return p_ == 0 ? x_ != 0 : p_ == 1 ? x_ : p_ == 2 ? x_ * x_ : ::pow(x_, p_);
}
inline double norm_of(double sum_, double p_) {
  return p_ == 0 || p_ == 1 ? sum_ : p_ == 2 ? ::sqrt(sum_) : ::pow(sum_, 1 / p_);
}
template <class T_, class A_>
void sum(View* r_, Kind kind_, View* t_, int dimension_, int keep_, bool is_product_) {
  resize_along(r_, kind_, t_, dimension_, 1, keep_);
  const long n_ = t_->size[dimension_];
  Walk<T_> to_(r_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next()) {
    A_ sum_ = is_product_;
    for (long i_ = 0; i_ < n_; ++i_) sum_ = is_product_ ? A_(sum_ * x_[i_]) : A_(sum_ + x_[i_]);
    *to_ = static_cast<T_>(sum_);
  }
}
template <class T_>
void mean(View* r_, Kind kind_, View* t_, int dimension_, int keep_) {
  resize_along(r_, kind_, t_, dimension_, 1, keep_);
  const long n_ = t_->size[dimension_];
  Walk<T_> to_(r_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next())
    *to_ = static_cast<T_>(sum_of_line(x_, n_) / static_cast<double>(n_));
}
template <class T_>
void norm(View* r_, Kind kind_, View* t_, T_ p_, int dimension_, int keep_) {
  resize_along(r_, kind_, t_, dimension_, 1, keep_);
  const long n_ = t_->size[dimension_];
  Walk<T_> to_(r_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next()) {
    double sum_ = 0;
    for (long i_ = 0; i_ < n_; ++i_) sum_ += power_for(static_cast<double>(x_[i_]), static_cast<double>(p_));
    *to_ = static_cast<T_>(norm_of(sum_, static_cast<double>(p_)));
  }
}
/// The variances; `root_`: the standard deviations. `biased_`: of all elements, else of a sample.
template <class T_>
void var(View* r_, Kind kind_, View* t_, int dimension_, int biased_, int keep_, bool root_) {
  resize_along(r_, kind_, t_, dimension_, 1, keep_);
  const long n_ = t_->size[dimension_];
  Walk<T_> to_(r_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next()) {
    const double mean_ = sum_of_line(x_, n_) / static_cast<double>(n_);
    double sum_ = 0;
    for (long i_ = 0; i_ < n_; ++i_) {
      const double off_ = static_cast<double>(x_[i_]) - mean_;
      sum_ += off_ * off_;
    }
    sum_ /= static_cast<double>(biased_ ? n_ : n_ - 1);
    *to_ = static_cast<T_>(root_ ? ::sqrt(sum_) : sum_);
  }
}
/// The largest elements and their places; `least_`: the smallest. A NaN is both.
template <class T_>
void most(View* r_, Kind kind_, View* places_, View* t_, int dimension_, int keep_, bool least_) {
  dimension(t_, dimension_);
  const long n_ = t_->size[dimension_];
  if (!n_) throw ValueError("the largest or smallest element of nothing is asked for");
  resize_along(places_, kind_of<long>(false), t_, dimension_, 1, keep_);
  resize_along(r_, kind_, t_, dimension_, 1, keep_);
  Walk<T_> to_(r_);
  Walk<long> place_(places_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next(), place_.next()) {
    long best_ = 0;
    for (long i_ = 1; i_ < n_ && x_[best_] == x_[best_]; ++i_)
      if (least_ ? !(x_[i_] >= x_[best_]) : !(x_[i_] <= x_[best_])) best_ = i_;
    *to_ = x_[best_];
    *place_ = best_;
  }
}
template <class T_>
double norm_all(View* t_, T_ p_) {
  double sum_ = 0;
  Walk<T_> x_(t_);
  for (ptrdiff_t n_ = count(t_); n_ > 0; --n_, x_.next())
    sum_ += power_for(static_cast<double>(*x_), static_cast<double>(p_));
  return norm_of(sum_, static_cast<double>(p_));
}
template <class T_>
double var_all(View* t_, int biased_) {
  const ptrdiff_t n_ = count(not_empty(t_, "varall"));
  double sum_ = 0, mean_ = 0;
  Walk<T_> x_(t_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, x_.next()) mean_ += static_cast<double>(*x_);
  mean_ /= static_cast<double>(n_);
  Walk<T_> y_(t_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, y_.next()) {
    const double off_ = static_cast<double>(*y_) - mean_;
    sum_ += off_ * off_;
  }
  return sum_ / static_cast<double>(biased_ ? n_ : n_ - 1);
}
template <class T_>
double dist(View* a_, View* b_, T_ p_) {
  if (count(a_) != count(b_)) throw ValueError("dist() is asked for of tensors of other numbers of elements");
  double sum_ = 0;
  Walk<T_> x_(a_), y_(b_);
  for (ptrdiff_t n_ = count(a_); n_ > 0; --n_, x_.next(), y_.next())
    sum_ += power_for(static_cast<double>(*x_) - static_cast<double>(*y_), static_cast<double>(p_));
  return norm_of(sum_, static_cast<double>(p_));
}
template <class T_>
int equal(View* a_, View* b_) {
  if (!is_same_size(a_, b_)) return 0;
  Walk<T_> x_(a_), y_(b_);
  for (ptrdiff_t n_ = count(a_); n_ > 0; --n_, x_.next(), y_.next())
    if (!(*x_ == *y_)) return 0;
  return 1;
}

// ---- sums on the way, parts ----

template <class T_, class A_>
void cumulate(View* r_, Kind kind_, View* t_, int dimension_, bool is_product_) {
  dimension(t_, dimension_);
  resize_as(r_, kind_, t_);
  const long n_ = t_->size[dimension_];
  Lines<T_> to_(r_, dimension_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next()) {
    A_ sum_ = is_product_;
    for (long i_ = 0; i_ < n_; ++i_) {
      sum_ = is_product_ ? A_(sum_ * x_[i_]) : A_(sum_ + x_[i_]);
      to_[i_] = static_cast<T_>(sum_);
    }
  }
}
/// One tensor behind the other. Tensors without dimensions are left out.
template <class T_>
void cat(View* r_, Kind kind_, View* const* parts_, int n_, int dimension_) {
  const View* like_ = nullptr;
  long total_ = 0;
  for (int k_ = 0; k_ < n_; ++k_) {
    const View* part_ = parts_[k_];
    if (part_ == r_) throw ValueError("the result is to be another tensor than the operands");
    if (!part_->ndim) continue;
    if (!like_) like_ = part_;
    bool fits_ = part_->ndim == like_->ndim;
    for (int i_ = 0; fits_ && i_ < like_->ndim; ++i_)
      fits_ = i_ == dimension_ || part_->size[i_] == like_->size[i_];
    if (!fits_)
      throw ValueError(Message("tensors of the shapes ")
                       << *like_ << " and " << *part_ << " do not go together in dimension " << dimension_);
    total_ += size(part_, dimension_);
  }
  if (!like_) return resize(r_, kind_, 0, nullptr, nullptr);
  resize_along(r_, kind_, like_, dimension_, total_, true);
  long first_ = 0;
  for (int k_ = 0; k_ < n_; ++k_) {
    if (!parts_[k_]->ndim) continue;
    const long length_ = parts_[k_]->size[dimension_];
    Lines<T_> to_(r_, dimension_);
    for (Lines<T_> x_(parts_[k_], dimension_); x_.left() > 0; x_.next(), to_.next())
      for (long i_ = 0; i_ < length_; ++i_) to_[first_ + i_] = x_[i_];
    first_ += length_;
  }
}
template <class T_>
void cat(View* r_, Kind kind_, View* a_, View* b_, int dimension_) {
  View* const parts_[] = {a_, b_};
  cat<T_>(r_, kind_, parts_, 2, dimension_);
}
/// The places that an index names in a dimension, each of which is there. They lie in memory of the call.
TARSIA_DETAIL_SUPPORT const long* places_of(const View* index_, const View* v_, int dimension_) {
  const ptrdiff_t n_ = count(index_);
  const long extent_ = size(v_, dimension_);
  if (index_->ndim > 1) throw ValueError("an index is to have one dimension");
  long* places_ = static_cast<long*>(scratch(static_cast<uint64_t>(n_ + 1) * sizeof(long), cpu_device()));
  Walk<long> at_(index_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, at_.next()) {
    if (*at_ < 0 || *at_ >= extent_)
      throw IndexError(Message("index ") << static_cast<long long>(*at_) << " in dimension " << dimension_
                                         << " of a tensor of shape " << *v_ << " is asked for");
    places_[i_] = *at_;
  }
  return places_;
}
template <class T_>
void index_select(View* r_, Kind kind_, View* t_, int dimension_, View* index_) {
  const long* places_ = places_of(index_, t_, dimension_);
  const long n_ = static_cast<long>(count(index_));
  resize_along(r_, kind_, t_, dimension_, n_, true);
  Lines<T_> to_(r_, dimension_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next())
    for (long i_ = 0; i_ < n_; ++i_) to_[i_] = x_[places_[i_]];
}
/// Copies the parts of `t_` to the places that the index names; `adds_`: adds them.
template <class T_>
void index_copy(View* r_, int dimension_, View* index_, View* t_, bool adds_) {
  const long* places_ = places_of(index_, r_, dimension_);
  const long n_ = static_cast<long>(count(index_));
  bool fits_ = t_->ndim == r_->ndim;
  for (int i_ = 0; fits_ && i_ < r_->ndim; ++i_)
    fits_ = t_->size[i_] == (i_ == dimension_ ? n_ : r_->size[i_]);
  if (!fits_)
    throw ValueError(Message("a tensor of shape ")
                     << *t_ << " does not go to " << static_cast<long long>(n_) << " places in dimension "
                     << dimension_ << " of one of shape " << *r_);
  Lines<T_> to_(r_, dimension_);
  for (Lines<T_> x_(t_, dimension_); x_.left() > 0; x_.next(), to_.next())
    for (long i_ = 0; i_ < n_; ++i_) {
      T_& place_ = to_[places_[i_]];
      place_ = adds_ ? T_(place_ + x_[i_]) : x_[i_];
    }
}
template <class T_>
void index_fill(View* r_, int dimension_, View* index_, T_ value_) {
  const long* places_ = places_of(index_, r_, dimension_);
  const long n_ = static_cast<long>(count(index_));
  for (Lines<T_> to_(r_, dimension_); to_.left() > 0; to_.next())
    for (long i_ = 0; i_ < n_; ++i_) to_[places_[i_]] = value_;
}

// ---- products ----

/// Makes the result one like `t_`, with its elements.
template <class T_>
void start_with(View* r_, Kind kind_, View* t_) {
  if (r_ == t_) return;
  resize_as(r_, kind_, t_);
  copy<T_, T_>(r_, t_);
}
template <class T_>
void addr(View* r_, Kind kind_, T_ beta_, View* t_, T_ alpha_, View* a_, View* b_) {
  if (a_->ndim != 1 || b_->ndim != 1 || t_->ndim != 2 || t_->size[0] != a_->size[0] ||
      t_->size[1] != b_->size[0])
    throw ValueError(Message("the outer product of tensors of the shapes ")
                     << *a_ << " and " << *b_ << " does not go with one of shape " << *t_);
  start_with<T_>(r_, kind_, t_);
  multiply(a_->size[0], b_->size[0], 1L, alpha_, reinterpret_cast<T_*>(data(a_, kind_)), a_->stride[0], 0L,
           reinterpret_cast<T_*>(data(b_, kind_)), 0L, b_->stride[0], beta_,
           reinterpret_cast<T_*>(data(r_, kind_)), r_->stride[0], r_->stride[1]);
}
/// r = beta * t + alpha * a[k] * b[k] for each k.
template <class T_>
void baddbmm(View* r_, Kind kind_, T_ beta_, View* t_, T_ alpha_, View* a_, View* b_) {
  if (a_->ndim != 3 || b_->ndim != 3 || t_->ndim != 3 || a_->size[0] != b_->size[0] ||
      t_->size[0] != a_->size[0] || a_->size[2] != b_->size[1] || t_->size[1] != a_->size[1] ||
      t_->size[2] != b_->size[2])
    throw ValueError(Message("the products of tensors of the shapes ")
                     << *a_ << " and " << *b_ << " do not go with one of shape " << *t_);
  start_with<T_>(r_, kind_, t_);
  for (long k_ = 0; k_ < a_->size[0]; ++k_)
    multiply(a_->size[1], b_->size[2], a_->size[2], alpha_,
             reinterpret_cast<T_*>(data(a_, kind_)) + k_ * a_->stride[0], a_->stride[1], a_->stride[2],
             reinterpret_cast<T_*>(data(b_, kind_)) + k_ * b_->stride[0], b_->stride[1], b_->stride[2], beta_,
             reinterpret_cast<T_*>(data(r_, kind_)) + k_ * r_->stride[0], r_->stride[1], r_->stride[2]);
}

}  // namespace cpu
}  // namespace th
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/macros_pop.h>
