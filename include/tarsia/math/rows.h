// Runs loops of <tarsia/math.h> on the CPU. Elements are converted a row at a time into the type of computing
// and back, so that each function is compiled for four types, and compilers vectorise its loop.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <tarsia/math/functors.h>
#include <tarsia/math/operands.h>

#include <utility>

namespace tarsia {
namespace math {
namespace detail {

using ::tarsia::detail::LoopCursor;
using ::tarsia::detail::RowMemory;

enum { k_row = 256 };

template <class C_, class T_>
inline void load_run(const T_* from_, long long stride_, long long n_, C_* to_) {
  if (stride_ == 1)
    for (long long i_ = 0; i_ < n_; ++i_) to_[i_] = value_of<C_>::from(from_[i_]);
  else
    for (long long i_ = 0; i_ < n_; ++i_) to_[i_] = value_of<C_>::from(from_[i_ * stride_]);
}
template <class C_, class T_>
inline void store_run(T_* to_, long long stride_, long long n_, const C_* from_) {
  if (stride_ == 1)
    for (long long i_ = 0; i_ < n_; ++i_) to_[i_] = to_element<T_>::from(from_[i_]);
  else
    for (long long i_ = 0; i_ < n_; ++i_) to_[i_ * stride_] = to_element<T_>::from(from_[i_]);
}

// load_row: n elements from element `at` on, `stride` apart. store_row: the reverse.
#define TARSIA_DETAIL_MATH_X(type_, T_) \
  case type_:                           \
    return load_run(reinterpret_cast<const T_*>(s_.data) + at_, stride_, n_, to_);
#define TARSIA_DETAIL_MATH_Y(type_, T_) \
  case type_:                           \
    return store_run(reinterpret_cast<T_*>(s_.data) + at_, stride_, n_, from_);
#define TARSIA_DETAIL_MATH_ROWS(C_)                                                                    \
  TARSIA_DETAIL_SUPPORT void load_row(const Side& s_, long long at_, long long stride_, long long n_,  \
                                      C_* to_) {                                                       \
    if (!s_.data) {                                                                                    \
      const C_ x_ = number_of<C_>(s_);                                                                 \
      for (long long i_ = 0; i_ < n_; ++i_) to_[i_] = x_;                                              \
      return;                                                                                          \
    }                                                                                                  \
    switch (s_.type) { TARSIA_DETAIL_MATH_TYPES(TARSIA_DETAIL_MATH_X) default : return; }              \
  }                                                                                                    \
  TARSIA_DETAIL_SUPPORT void store_row(const Side& s_, long long at_, long long stride_, long long n_, \
                                       const C_* from_) {                                              \
    switch (s_.type) { TARSIA_DETAIL_MATH_TYPES(TARSIA_DETAIL_MATH_Y) default : return; }              \
  }
TARSIA_DETAIL_MATH_ROWS(float)
TARSIA_DETAIL_MATH_ROWS(double)
TARSIA_DETAIL_MATH_ROWS(long long)
TARSIA_DETAIL_MATH_ROWS(unsigned long long)
#undef TARSIA_DETAIL_MATH_ROWS
#undef TARSIA_DETAIL_MATH_X
#undef TARSIA_DETAIL_MATH_Y

template <class C_>
struct own_type;
template <>
struct own_type<float> {
  enum { value = k_float32 };
};
template <>
struct own_type<double> {
  enum { value = k_float64 };
};
template <>
struct own_type<long long> {
  enum { value = k_int64 };
};
template <>
struct own_type<unsigned long long> {
  enum { value = k_uint64 };
};

/// The elements of a row: in place, or in `room`.
template <class C_>
inline const C_* row_at(const Side& s_, long long at_, long long stride_, long long n_, C_* room_) {
  if (s_.data && s_.type == own_type<C_>::value && stride_ == 1) return reinterpret_cast<C_*>(s_.data) + at_;
  load_row(s_, at_, stride_, n_, room_);
  return room_;
}
/// Adds a row to what is there, in the type A.
template <class A_, class C_>
inline void add_row(const Side& s_, long long at_, long long stride_, long long n_, const C_* row_) {
  A_ room_[k_row];
  load_row(s_, at_, stride_, n_, room_);
  for (long long i_ = 0; i_ < n_; ++i_) room_[i_] = room_[i_] + static_cast<A_>(row_[i_]);
  store_row(s_, at_, stride_, n_, room_);
}
/// Stores a row of at most k_row elements as the request says.
template <class C_>
inline void put_row(const Side& s_, long long at_, long long stride_, long long n_, const C_* row_,
                    int request_) {
  if (request_ != 3) return store_row(s_, at_, stride_, n_, row_);
  switch (added_as<C_>(s_.type)) {
    case k_as_double:
      return add_row<double>(s_, at_, stride_, n_, row_);
    case k_as_int:
      return add_row<long long>(s_, at_, stride_, n_, row_);
    default:
      return add_row<C_>(s_, at_, stride_, n_, row_);
  }
}

/// Calls body(begin, end) for parts of 0 … n-1, on several threads if each of the steps costs much.
template <class B_>
inline void in_parts(long long n_, long long cost_, const B_& body_) {
  const long long grain_ = 1 + (1LL << 15) / (cost_ > 0 ? cost_ : 1);
  if (n_ <= grain_) {
    if (n_) body_(0LL, n_);
    return;
  }
  ::tarsia::detail::attached()->parallel(
      n_, grain_,
      [](void* with_, int64_t begin_, int64_t end_) {
        (*static_cast<const B_*>(with_))(static_cast<long long>(begin_), static_cast<long long>(end_));
      },
      const_cast<B_*>(&body_));
}

template <class F_, class C_, size_t... at_>
inline void map_row(const F_& f_, const C_* const* v_, long long n_, C_* to_, std::index_sequence<at_...>) {
  for (long long i_ = 0; i_ < n_; ++i_) to_[i_] = f_(v_[at_][i_]...);
}

/// Side n is the output.
template <class F_, class C_, int n_>
void map_rows(const F_& f_, const LoopDims& d_, const Sides<n_ + 1>& s_, int request_) {
  in_parts(d_.count, 8, [&](long long begin_, long long end_) {
    C_ rooms_[n_][k_row], to_[k_row];
    const int last_ = d_.ndim - 1;
    LoopCursor c_(d_, begin_);
    for (long long k_ = begin_; k_ < end_;) {
      long long run_ = c_.left(d_) < end_ - k_ ? c_.left(d_) : end_ - k_;
      if (run_ > k_row) run_ = k_row;
      const C_* v_[n_];
      for (int j_ = 0; j_ < n_; ++j_) {
        const Side& side_ = s_.side[j_];
        v_[j_] = row_at<C_>(side_, c_.offset(d_, side_.strides), side_.strides[last_], run_, rooms_[j_]);
      }
      map_row(f_, v_, run_, to_, std::make_index_sequence<n_>());
      const Side& out_ = s_.side[n_];
      put_row(out_, c_.offset(d_, out_.strides), out_.strides[last_], run_, to_, request_);
      c_.advance(d_, run_);
      k_ += run_;
    }
  });
}

}  // namespace detail
}  // namespace math
}  // namespace tarsia

#include <tarsia/detail/macros_pop.h>
