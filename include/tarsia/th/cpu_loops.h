// Loops over elements of TH's tensors on the CPU. Operands are walked in row-major order, whatever their
// strides.
#pragma once

#include <tarsia/th/core.h>
#include <tarsia/th/functors.h>

#include <tarsia/detail/macros_push.h>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace th {
namespace cpu {

using namespace th;

/// The most dimensions that a loop walks.
enum { k_most_dims = 32 };

/// Walks over a tensor's elements in row-major order.
template <class T_>
class Walk {
 public:
  explicit Walk(const View* v_) : m_view(*v_), m_at(reinterpret_cast<T_*>(data(v_, kind_of<T_>(false)))) {
    if (v_->ndim > k_most_dims) throw ValueError("a tensor of more than 32 dimensions");
    for (int i_ = 0; i_ < v_->ndim; ++i_) m_index[i_] = 0;
    if (is_contiguous(v_)) m_step = 1;
  }
  T_& operator*() const { return *m_at; }
  void next() {
    if (m_step) {
      ++m_at;
      return;
    }
    for (int i_ = m_view.ndim - 1; i_ >= 0; --i_) {
      m_at += m_view.stride[i_];
      if (++m_index[i_] < m_view.size[i_]) return;
      m_at -= m_view.stride[i_] * m_view.size[i_];
      m_index[i_] = 0;
    }
  }

 private:
  const View& m_view;
  T_* m_at;
  int m_step = 0;
  long m_index[k_most_dims];
};

template <class T_>
T_* plain(const View* v_) {
  return is_contiguous(v_) ? reinterpret_cast<T_*>(data(v_, kind_of<T_>(false))) : nullptr;
}

template <class T_>
void fill(View* r_, T_ value_) {
  const ptrdiff_t n_ = count(r_);
  Walk<T_> r_at_(r_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, r_at_.next()) *r_at_ = value_;
}
template <class T_>
void fill_storage(Storage* s_, T_ value_) {
  for (ptrdiff_t i_ = 0; i_ < s_->size; ++i_) reinterpret_cast<T_*>(s_->data)[i_] = value_;
}
template <class T_, class F_>
void copy(View* r_, const View* t_) {
  const ptrdiff_t n_ = count(r_);
  if (n_ != count(t_))
    throw ValueError(Message("a tensor of shape ") << *t_ << " is to be copied into one of shape " << *r_
                                                   << ": they have other numbers of elements");
  Walk<T_> to_(r_);
  Walk<F_> from_(t_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, to_.next(), from_.next()) *to_ = static_cast<T_>(*from_);
}
TARSIA_DETAIL_SUPPORT ptrdiff_t offset_of(const View* v_, std::initializer_list<long> index_) {
  ptrdiff_t at_ = 0;
  int i_ = 0;
  for (const long k_ : index_) {
    if (static_cast<int>(index_.size()) != v_->ndim || k_ < 0 || k_ >= v_->size[i_])
      throw IndexError(Message("an element outside of a tensor of shape ") << *v_ << " is asked for");
    at_ += k_ * v_->stride[i_++];
  }
  return at_;
}
template <class T_>
void set_element(View* v_, std::initializer_list<long> index_, T_ value_) {
  reinterpret_cast<T_*>(data(v_, kind_of<T_>(false)))[offset_of(v_, index_)] = value_;
}
template <class T_>
T_ get_element(const View* v_, std::initializer_list<long> index_) {
  return reinterpret_cast<T_*>(data(v_, kind_of<T_>(false)))[offset_of(v_, index_)];
}

template <class F_, class T_ = typename F_::element>
void map(View* r_, Kind kind_, View* t_, F_ f_) {
  prepare(r_, kind_, t_, {});
  const ptrdiff_t n_ = count(t_);
  T_ *const to_ = plain<T_>(r_), *const a_ = plain<T_>(t_);
  if (to_ && a_) {
    for (ptrdiff_t i_ = 0; i_ < n_; ++i_) to_[i_] = f_(a_[i_]);
    return;
  }
  Walk<T_> r_at_(r_), t_at_(t_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, r_at_.next(), t_at_.next()) *r_at_ = f_(*t_at_);
}
template <class F_, class T_ = typename F_::element>
void map(View* r_, Kind kind_, View* t_, View* s_, F_ f_) {
  prepare(r_, kind_, t_, {s_});
  const ptrdiff_t n_ = count(t_);
  T_ *const to_ = plain<T_>(r_), *const a_ = plain<T_>(t_), *const b_ = plain<T_>(s_);
  if (to_ && a_ && b_) {
    for (ptrdiff_t i_ = 0; i_ < n_; ++i_) to_[i_] = f_(a_[i_], b_[i_]);
    return;
  }
  Walk<T_> r_at_(r_), t_at_(t_), s_at_(s_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, r_at_.next(), t_at_.next(), s_at_.next()) *r_at_ = f_(*t_at_, *s_at_);
}
template <class F_, class T_ = typename F_::element>
void map(View* r_, Kind kind_, View* t_, View* a_, View* b_, F_ f_) {
  prepare(r_, kind_, t_, {a_, b_});
  const ptrdiff_t n_ = count(t_);
  Walk<T_> r_at_(r_), t_at_(t_), a_at_(a_), b_at_(b_);
  for (ptrdiff_t i_ = 0; i_ < n_; ++i_, r_at_.next(), t_at_.next(), a_at_.next(), b_at_.next())
    *r_at_ = f_(*t_at_, *a_at_, *b_at_);
}
template <class T_, class F_>
typename F_::sum reduce(View* t_, F_ f_) {
  typename F_::sum sum_ = F_::first();
  Walk<T_> at_(t_);
  for (ptrdiff_t n_ = count(t_); n_ > 0; --n_, at_.next())
    sum_ = f_(sum_, static_cast<typename F_::sum>(*at_));
  return sum_;
}
template <class T_>
double dot(View* a_, View* b_, Kind) {
  if (count(a_) != count(b_)) throw ValueError("dot() is asked for of tensors of other numbers of elements");
  double sum_ = 0;
  Walk<T_> a_at_(a_), b_at_(b_);
  for (ptrdiff_t n_ = count(a_); n_ > 0; --n_, a_at_.next(), b_at_.next())
    sum_ += static_cast<double>(*a_at_) * static_cast<double>(*b_at_);
  return sum_;
}

/// c = alpha * a * b + beta * c of matrices whose elements lie by strides.
template <class T_>
void multiply(long m_, long n_, long k_, T_ alpha_, const T_* a_, long a0_, long a1_, const T_* b_, long b0_,
              long b1_, T_ beta_, T_* c_, long c0_, long c1_) {
  for (long i_ = 0; i_ < m_; ++i_) {
    for (long j_ = 0; j_ < n_; ++j_) {  // what is multiplied by 0 may be unset
      T_& to_ = c_[i_ * c0_ + j_ * c1_];
      to_ = beta_ == T_(0) ? T_(0) : beta_ * to_;
    }
    for (long l_ = 0; l_ < k_; ++l_) {
      const T_ x_ = alpha_ * a_[i_ * a0_ + l_ * a1_];
      for (long j_ = 0; j_ < n_; ++j_) c_[i_ * c0_ + j_ * c1_] += x_ * b_[l_ * b0_ + j_ * b1_];
    }
  }
}
template <class T_>
void gemm(char ta_, char tb_, long m_, long n_, long k_, T_ alpha_, const T_* a_, long lda_, const T_* b_,
          long ldb_, T_ beta_, T_* c_, long ldc_) {
  const bool is_a_ = ta_ == 't' || ta_ == 'T', is_b_ = tb_ == 't' || tb_ == 'T';
  multiply(m_, n_, k_, alpha_, a_, is_a_ ? lda_ : 1, is_a_ ? 1 : lda_, b_, is_b_ ? ldb_ : 1, is_b_ ? 1 : ldb_,
           beta_, c_, 1L, ldc_);
}
template <class T_>
void addmm(View* r_, Kind kind_, T_ beta_, View* t_, T_ alpha_, View* a_, View* b_) {
  check_product(a_, b_, t_);
  if (r_ != t_) {
    resize_as(r_, kind_, t_);
    copy<T_, T_>(r_, t_);
  }
  multiply(a_->size[0], b_->size[1], a_->size[1], alpha_, reinterpret_cast<T_*>(data(a_, kind_)),
           a_->stride[0], a_->stride[1], reinterpret_cast<T_*>(data(b_, kind_)), b_->stride[0], b_->stride[1],
           beta_, reinterpret_cast<T_*>(data(r_, kind_)), r_->stride[0], r_->stride[1]);
}
template <class T_>
void addmv(View* r_, Kind kind_, T_ beta_, View* t_, T_ alpha_, View* a_, View* b_) {
  check_product(a_, b_, t_);
  if (r_ != t_) {
    resize_as(r_, kind_, t_);
    copy<T_, T_>(r_, t_);
  }
  multiply(a_->size[0], 1L, a_->size[1], alpha_, reinterpret_cast<T_*>(data(a_, kind_)), a_->stride[0],
           a_->stride[1], reinterpret_cast<T_*>(data(b_, kind_)), b_->stride[0], 1L, beta_,
           reinterpret_cast<T_*>(data(r_, kind_)), r_->stride[0], 1L);
}

}  // namespace cpu
}  // namespace th
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/macros_pop.h>
