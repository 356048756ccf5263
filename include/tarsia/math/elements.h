// Elements of every dtype, as the four types that <tarsia/math.h> computes with. Device code sees this file,
// too.
#pragma once

#include <tarsia/detail/loop.h>

namespace tarsia {
namespace math {
namespace detail {

using ::tarsia::detail::k_loop_dims;
using ::tarsia::detail::LoopDims;

/// The dtypes of elements.
enum Type {
  k_bool,
  k_int8,
  k_int16,
  k_int32,
  k_int64,
  k_uint8,
  k_uint16,
  k_uint32,
  k_uint64,
  k_float16,
  k_bfloat16,
  k_float32,
  k_float64
};

/// A tensor within a loop, or a number in its place: `data` is then null.
struct Side {
  char* data;
  int type;  ///< a Type
  long long strides[k_loop_dims];
  double number;
  long long whole;
};
template <int n_>
struct Sides {
  Side side[n_];
};

// X_(type, C++'s) of all types.
#define TARSIA_DETAIL_MATH_TYPES(X_) \
  X_(k_bool, bool)                   \
  X_(k_int8, signed char)            \
  X_(k_int16, short)                 \
  X_(k_int32, int)                   \
  X_(k_int64, long long)             \
  X_(k_uint8, unsigned char)         \
  X_(k_uint16, unsigned short)       \
  X_(k_uint32, unsigned)             \
  X_(k_uint64, unsigned long long)   \
  X_(k_float16, half_element) X_(k_bfloat16, bfloat_element) X_(k_float32, float) X_(k_float64, double)

/// An element from a value. A bool is whether it is not 0.
template <class T_>
struct to_element {
  template <class C_>
  TARSIA_HOST_DEVICE static T_ from(C_ x_) {
    return static_cast<T_>(x_);
  }
};
template <>
struct to_element<bool> {
  template <class C_>
  TARSIA_HOST_DEVICE static bool from(C_ x_) {
    return x_ != C_(0);
  }
};
template <>
struct to_element<half_element> {
  template <class C_>
  TARSIA_HOST_DEVICE static half_element from(C_ x_) {
    return half_element(static_cast<float>(x_));
  }
};
template <>
struct to_element<bfloat_element> {
  template <class C_>
  TARSIA_HOST_DEVICE static bfloat_element from(C_ x_) {
    return bfloat_element(static_cast<float>(x_));
  }
};
template <class C_>
struct value_of {
  template <class T_>
  TARSIA_HOST_DEVICE static C_ from(T_ x_) {
    return static_cast<C_>(x_);
  }
  TARSIA_HOST_DEVICE static C_ from(half_element x_) { return static_cast<C_>(static_cast<float>(x_)); }
  TARSIA_HOST_DEVICE static C_ from(bfloat_element x_) { return static_cast<C_>(static_cast<float>(x_)); }
};
/// The number that stands in a tensor's place.
template <class C_>
TARSIA_HOST_DEVICE inline C_ number_of(const Side& s_) {
  return C_(1) / C_(2) != C_(0) ? static_cast<C_>(s_.number) : static_cast<C_>(s_.whole);
}

/// Element `at`, counted in elements from the first.
template <class C_>
TARSIA_HOST_DEVICE inline C_ load(const Side& s_, long long at_) {
  if (!s_.data) return number_of<C_>(s_);
  switch (s_.type) {
#define TARSIA_DETAIL_MATH_X(type_, T_) \
  case type_:                           \
    return value_of<C_>::from(reinterpret_cast<const T_*>(s_.data)[at_]);
    TARSIA_DETAIL_MATH_TYPES(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
    default:
      return C_(0);
  }
}
/// What elements are computed as.
enum Computed { k_as_float, k_as_double, k_as_int, k_as_uint };

/// As what a value of type C is added to an element: what was to be stored is added, and nothing of the
/// element is lost. k_as_float: as a C.
template <class C_>
TARSIA_HOST_DEVICE inline Computed added_as(int type_) {
  if (C_(1) / C_(2) != C_(0) && type_ >= k_int8 && type_ <= k_uint64) return k_as_int;
  // A whole number that a float of any width already holds a part of.
  if (type_ == k_float64 || (C_(1) / C_(2) == C_(0) && type_ >= k_float16)) return k_as_double;
  return k_as_float;
}

template <class C_>
TARSIA_HOST_DEVICE inline void overwrite(const Side& s_, long long at_, C_ x_) {
  switch (s_.type) {
#define TARSIA_DETAIL_MATH_X(type_, T_)                             \
  case type_:                                                       \
    reinterpret_cast<T_*>(s_.data)[at_] = to_element<T_>::from(x_); \
    return;
    TARSIA_DETAIL_MATH_TYPES(TARSIA_DETAIL_MATH_X)
#undef TARSIA_DETAIL_MATH_X
    default:
      return;
  }
}
/// Stores a value as the request says: 3 adds.
template <class C_>
TARSIA_HOST_DEVICE inline void store(const Side& s_, long long at_, C_ x_, int request_) {
  if (request_ != 3) return overwrite(s_, at_, x_);
  switch (added_as<C_>(s_.type)) {
    case k_as_double:
      return overwrite(s_, at_, load<double>(s_, at_) + static_cast<double>(x_));
    case k_as_int:
      return overwrite(s_, at_, load<long long>(s_, at_) + static_cast<long long>(x_));
    default:
      return overwrite(s_, at_, load<C_>(s_, at_) + x_);
  }
}

/// f of the first n elements behind v.
template <int n_>
struct first_of {
  template <class F_, class C_, class... X_>
  TARSIA_HOST_DEVICE static C_ call(const F_& f_, const C_* v_, X_... x_) {
    return first_of<n_ - 1>::call(f_, v_, v_[n_ - 1], x_...);
  }
};
template <>
struct first_of<0> {
  template <class F_, class C_, class... X_>
  TARSIA_HOST_DEVICE static C_ call(const F_& f_, const C_*, X_... x_) {
    return f_(x_...);
  }
};
}  // namespace detail
}  // namespace math
}  // namespace tarsia
