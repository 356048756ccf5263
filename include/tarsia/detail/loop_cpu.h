// Runs loops on the CPU. Elements are gathered into contiguous rows of one type, unless they already lie so.
// Compilers can then vectorise the expression's own loop.
#pragma once

#include <tarsia/detail/loop_plan.h>

#include <cmath>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

/// The number of elements that are worked on at once, and of results of a reduction.
enum { k_row = 512, k_columns = 4096 };

/// Reads and writes elements of a type; `wide` code may use AVX2 and F16C.
template <class T_, bool wide_>
struct Element {
  typedef T_ seen;
  static constexpr bool is_same = true;
  __attribute__((always_inline)) static T_ get(const T_& x_) { return x_; }
  __attribute__((always_inline)) static T_ put(T_ x_) { return x_; }
};
template <bool wide_>
struct Element<bfloat_element, wide_> {
  typedef float seen;
  static constexpr bool is_same = false;
  __attribute__((always_inline)) static float get(const bfloat_element& x_) { return x_; }
  __attribute__((always_inline)) static bfloat_element put(float x_) { return bfloat_element(x_); }
};
template <>
struct Element<half_element, false> {
  typedef float seen;
  static constexpr bool is_same = false;
  __attribute__((always_inline)) static float get(const half_element& x_) { return x_; }
  __attribute__((always_inline)) static half_element put(float x_) { return half_element(x_); }
};
template <>
struct Element<half_element, true> {
  typedef float seen;
  static constexpr bool is_same = false;
  __attribute__((always_inline)) static float get(const half_element& x_) {
    _Float16 h_;
    __builtin_memcpy(&h_, &x_, sizeof(h_));
    return h_;
  }
  __attribute__((always_inline)) static half_element put(float x_) {
    const _Float16 h_ = static_cast<_Float16>(x_);
    half_element y_;
    __builtin_memcpy(&y_, &h_, sizeof(h_));
    return y_;
  }
};

/// Whether the next n steps are neighbours in memory: they lie within the last dimension, or there is only
/// one dimension.
inline bool is_row(const LoopDims& d_, const long long* strides_, const LoopCursor& c_, long long n_) {
  if (strides_[d_.ndim - 1] != 1) return false;
  if (c_.left(d_) >= n_) return true;
  for (int i_ = d_.ndim - 1; i_ > 0; --i_)
    if (strides_[i_ - 1] != strides_[i_] * d_.shape[i_]) return false;
  return true;
}

/// Returns the elements of the next n steps in a row: in place, or gathered into `room`.
template <bool wide_, class T_, class S_>
__attribute__((always_inline)) inline const S_* gather(const LoopDims& d_, const long long* strides_,
                                                       const T_* data_, LoopCursor c_, long long n_,
                                                       S_* __restrict__ room_) {
  const long long stride_ = strides_[d_.ndim - 1];
  if (Element<T_, wide_>::is_same && is_row(d_, strides_, c_, n_))
    return reinterpret_cast<const S_*>(data_ + c_.offset(d_, strides_));
  for (long long k_ = 0; k_ < n_;) {
    const long long left_ = c_.left(d_), run_ = left_ < n_ - k_ ? left_ : n_ - k_;
    const T_* __restrict__ from_ = data_ + c_.offset(d_, strides_);
    if (stride_ == 1) {
      for (long long i_ = 0; i_ < run_; ++i_) room_[k_ + i_] = Element<T_, wide_>::get(from_[i_]);
    } else if (stride_ == 0) {
      const S_ x_ = Element<T_, wide_>::get(*from_);
      for (long long i_ = 0; i_ < run_; ++i_) room_[k_ + i_] = x_;
    } else {
      for (long long i_ = 0; i_ < run_; ++i_) room_[k_ + i_] = Element<T_, wide_>::get(from_[i_ * stride_]);
    }
    k_ += run_;
    c_.advance(d_, run_);
  }
  return room_;
}

/// Returns where to put the results of the next n steps: in place, or in `room`, from which scatter() takes
/// them.
template <bool wide_, class T_, class S_>
__attribute__((always_inline)) inline S_* row_of(const LoopDims& d_, const long long* strides_, T_* data_,
                                                 const LoopCursor& c_, long long n_, S_* room_) {
  if (Element<T_, wide_>::is_same && is_row(d_, strides_, c_, n_))
    return reinterpret_cast<S_*>(data_ + c_.offset(d_, strides_));
  return room_;
}
template <bool wide_, class T_, class S_>
__attribute__((always_inline)) inline void scatter(const LoopDims& d_, const long long* strides_, T_* data_,
                                                   LoopCursor c_, long long n_, const S_* row_,
                                                   const S_* room_) {
  if (row_ != room_) return;
  const long long stride_ = strides_[d_.ndim - 1];
  for (long long k_ = 0; k_ < n_;) {
    const long long left_ = c_.left(d_), run_ = left_ < n_ - k_ ? left_ : n_ - k_;
    T_* __restrict__ to_ = data_ + c_.offset(d_, strides_);
    if (stride_ == 1)
      for (long long i_ = 0; i_ < run_; ++i_) to_[i_] = Element<T_, wide_>::put(room_[k_ + i_]);
    else
      for (long long i_ = 0; i_ < run_; ++i_) to_[i_ * stride_] = Element<T_, wide_>::put(room_[k_ + i_]);
    k_ += run_;
    c_.advance(d_, run_);
  }
}

/// Returns the numbers of the elements of the next n steps.
inline const long long* gather_indices(const LoopDims& d_, const long long* strides_, long long base_,
                                       LoopCursor c_, long long n_, long long* room_) {
  for (long long k_ = 0; k_ < n_; ++k_) {
    room_[k_] = base_ + c_.offset(d_, strides_);
    c_.advance(d_, 1);
  }
  return room_;
}

/// The pieces of a reduction. They do not depend on the number of threads.
struct ReductionPieces {
  long long parts, rows;     ///< of what is reduced: how many, and how long each is
  long long chunks, length;  ///< of what is kept
};

inline ReductionPieces pieces_of(long long kept_, long long reduced_, bool neighbours_) {
  enum { k_piece = 1 << 16 };
  ReductionPieces p_;
  p_.parts = 1;
  const long long all_ = kept_ * reduced_;
  if (neighbours_ ? kept_ < 8 * k_columns : kept_ < 256) {
    const long long most_ = neighbours_ && kept_ >= 64 ? (reduced_ / 64 < 32 ? reduced_ / 64 : 32) : 256;
    p_.parts = all_ / k_piece < most_ ? all_ / k_piece : most_;
  }
  if (p_.parts > reduced_) p_.parts = reduced_;
  if (p_.parts < 1) p_.parts = 1;
  p_.rows = (reduced_ + p_.parts - 1) / p_.parts;
  if (p_.rows) p_.parts = (reduced_ + p_.rows - 1) / p_.rows;
  p_.length = k_piece / (p_.rows < 1 ? 1 : p_.rows);
  if (p_.length < 1) p_.length = 1;
  if (neighbours_) p_.length = (p_.length + k_columns - 1) / k_columns * k_columns;
  p_.chunks = (kept_ + p_.length - 1) / p_.length;
  return p_;
}

/// Returns how many of the remaining steps make the next row. A row ends where a long last dimension ends, so
/// that its elements may be used in place.
inline long long row_length(const LoopDims& d_, const LoopCursor& c_, long long left_) {
  const long long run_ = c_.left(d_), most_ = left_ < k_row ? left_ : static_cast<long long>(k_row);
  return d_.shape[d_.ndim - 1] >= k_row / 2 && run_ < most_ ? run_ : most_;
}

/// The number of steps in a row, and the number of steps before it.
struct LoopRow {
  LoopCursor cursor;
  long long first, count;
};

/// Cuts the next n steps, at most k_columns, into rows and returns their number.
inline int rows_of(const LoopDims& d_, LoopCursor c_, long long n_, LoopRow* rows_) {
  int count_ = 0;
  for (long long k_ = 0; k_ < n_; ++count_) {
    LoopRow& row_ = rows_[count_];
    row_.cursor = c_, row_.first = k_, row_.count = row_length(d_, c_, n_ - k_);
    c_.advance(d_, row_.count);
    k_ += row_.count;
  }
  return count_;
}

/// Runs body(with, begin, end) over n steps of `bytes` bytes each, on several threads if that pays.
inline void spread(int64_t n_, int64_t bytes_, void (*body_)(void*, int64_t, int64_t), void* with_) {
  const int64_t grain_ = 1 + (int64_t(1) << 18) / (bytes_ > 0 ? bytes_ : 1) / k_row * k_row;
  const int64_t rows_ = grain_ - 1 > k_row ? grain_ - 1 : static_cast<int64_t>(k_row);
  if (n_ <= 2 * rows_)
    body_(with_, 0, n_);
  else
    host()->parallel(n_, rows_, body_, with_);
}

/// Whether the processor has AVX2 and F16C and the operating system saves their registers.
/// Work-around: what __builtin_cpu_supports asks is in no shared library.
/// Trigger: a module calls it, which links none of GCC's static libraries. Symptom: an undefined symbol.
/// Removal: libgcc_s.so has it.
inline bool is_wide() {
  static const bool wide_ = [] {
    unsigned a_ = 0, b_ = 0, c_ = 0, d_ = 0;
    __asm__("cpuid" : "=a"(a_), "=b"(b_), "=c"(c_), "=d"(d_) : "0"(0), "2"(0));
    if (a_ < 7) return false;
    __asm__("cpuid" : "=a"(a_), "=b"(b_), "=c"(c_), "=d"(d_) : "0"(1), "2"(0));
    const unsigned osxsave_ = 1u << 27, avx_ = 1u << 28, f16c_ = 1u << 29, needed_ = osxsave_ | avx_ | f16c_;
    if ((c_ & needed_) != needed_) return false;
    __asm__("xgetbv" : "=a"(a_), "=d"(d_) : "c"(0));
    if ((a_ & 6) != 6) return false;
    __asm__("cpuid" : "=a"(a_), "=b"(b_), "=c"(c_), "=d"(d_) : "0"(7), "2"(0));
    return (b_ >> 5 & 1) != 0;
  }();
  return wide_;
}

namespace expression {
using std::abs;
using std::acos;
using std::acosh;
using std::asin;
using std::asinh;
using std::atan;
using std::atan2;
using std::atanh;
using std::cbrt;
using std::ceil;
using std::copysign;
using std::cos;
using std::cosh;
using std::erf;
using std::erfc;
using std::exp;
using std::exp2;
using std::expm1;
using std::floor;
using std::fma;
using std::fmax;
using std::fmin;
using std::fmod;
using std::hypot;
using std::isfinite;
using std::isinf;
using std::isnan;
using std::lgamma;
using std::log;
using std::log10;
using std::log1p;
using std::log2;
using std::nearbyint;
using std::pow;
using std::rint;
using std::round;
using std::signbit;
using std::sin;
using std::sinh;
using std::tan;
using std::tanh;
using std::tgamma;
using std::trunc;

// The math functions without errno: nobody reads it here, and it prevents vectorisation.
inline float sqrt(float x_) {
  return __builtin_elementwise_sqrt(x_);
}
inline double sqrt(double x_) {
  return __builtin_elementwise_sqrt(x_);
}
template <class T_, class = decltype(static_cast<double>(T_())), int = T_(1) / 2 == 0 ? 1 : 0>
inline double sqrt(T_ x_) {
  return __builtin_elementwise_sqrt(static_cast<double>(x_));
}
inline float rsqrt(float x_) {
  return 1 / sqrt(x_);
}
inline double rsqrt(double x_) {
  return 1 / sqrt(x_);
}

/// CUDA's atomicAdd for expressions on the CPU: adds to an element and returns the value from before. It is a
/// plain addition.
template <class T_, class A_>
inline T_ atomicAdd(T_* to_, A_ x_) {
  const T_ old_ = *to_;
  *to_ = static_cast<T_>(old_ + x_);
  return old_;
}
}  // namespace expression

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop
