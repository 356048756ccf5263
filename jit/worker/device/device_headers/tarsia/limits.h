// <limits> for device code. All but the primary template are templates too.
//
// Work-around: NVRTC writes unused static members into the cubin.
// Trigger: a class that is no template has static members. Symptom: each cubin holds all of them.
// Removal: NVRTC leaves out what no kernel uses.
#pragma once
#include <float.h>
#include <limits.h>
#include <tarsia/type_traits.h>

namespace std {

enum float_round_style {
  round_indeterminate = -1,
  round_toward_zero = 0,
  round_to_nearest = 1,
  round_toward_infinity = 2,
  round_toward_neg_infinity = 3
};

enum float_denorm_style { denorm_indeterminate = -1, denorm_absent = 0, denorm_present = 1 };

/// The members whose value is mostly 0.
struct tarsia_limits {
  static constexpr bool is_specialized = false, is_integer = false, is_signed = false, is_exact = false;
  static constexpr bool is_bounded = false, is_modulo = false, is_iec559 = false;
  static constexpr bool has_infinity = false, has_quiet_NaN = false, has_signaling_NaN = false;
  static constexpr bool has_denorm_loss = false, traps = false, tinyness_before = false;
  static constexpr float_denorm_style has_denorm = denorm_absent;
  static constexpr float_round_style round_style = round_toward_zero;
  static constexpr int radix = 0, digits = 0, digits10 = 0, max_digits10 = 0;
  static constexpr int min_exponent = 0, max_exponent = 0, min_exponent10 = 0, max_exponent10 = 0;
};

template <class T>
struct tarsia_no_limits : tarsia_limits {
  TARSIA_STD_MEMBER static constexpr T min() noexcept { return T(); }
  TARSIA_STD_MEMBER static constexpr T max() noexcept { return T(); }
  TARSIA_STD_MEMBER static constexpr T lowest() noexcept { return T(); }
};

template <class T>
struct tarsia_integer_limits : tarsia_limits {
  static constexpr bool is_specialized = true, is_integer = true, is_exact = true, is_bounded = true;
  static constexpr bool is_signed = T(-1) < T(0), is_modulo = !is_signed;
  static constexpr int radix = 2, digits = is_same<T, bool>::value ? 1 : int(sizeof(T) * 8) - is_signed;
  static constexpr int digits10 = digits * 643 / 2136;
  TARSIA_STD_MEMBER static constexpr T max() noexcept { return T(~0ULL >> (64 - digits)); }
  TARSIA_STD_MEMBER static constexpr T min() noexcept { return is_signed ? T(-max() - 1) : T(0); }
  TARSIA_STD_MEMBER static constexpr T lowest() noexcept { return min(); }
  TARSIA_STD_MEMBER static constexpr T epsilon() noexcept { return T(0); }
  TARSIA_STD_MEMBER static constexpr T round_error() noexcept { return T(0); }
  TARSIA_STD_MEMBER static constexpr T infinity() noexcept { return T(0); }
  TARSIA_STD_MEMBER static constexpr T quiet_NaN() noexcept { return T(0); }
  TARSIA_STD_MEMBER static constexpr T denorm_min() noexcept { return T(0); }
};

template <class T>
struct tarsia_floating_limits : tarsia_limits {
  static constexpr bool is_specialized = true, is_integer = false, is_exact = false, is_bounded = true;
  static constexpr bool is_signed = true, is_modulo = false, is_iec559 = true;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = true,
                        tarsia_f = sizeof(T) == 4;
  static constexpr int radix = 2, digits = tarsia_f ? FLT_MANT_DIG : DBL_MANT_DIG;
  static constexpr int digits10 = tarsia_f ? FLT_DIG : DBL_DIG, max_digits10 = tarsia_f ? 9 : 17;
  static constexpr int min_exponent = tarsia_f ? FLT_MIN_EXP : DBL_MIN_EXP;
  static constexpr int max_exponent = tarsia_f ? FLT_MAX_EXP : DBL_MAX_EXP;
  static constexpr int min_exponent10 = tarsia_f ? FLT_MIN_10_EXP : DBL_MIN_10_EXP;
  static constexpr int max_exponent10 = tarsia_f ? FLT_MAX_10_EXP : DBL_MAX_10_EXP;
  static constexpr float_round_style round_style = round_to_nearest;
  static constexpr float_denorm_style has_denorm = denorm_present;
  TARSIA_STD_MEMBER static constexpr T min() noexcept { return tarsia_f ? FLT_MIN : DBL_MIN; }
  TARSIA_STD_MEMBER static constexpr T max() noexcept { return tarsia_f ? FLT_MAX : DBL_MAX; }
  TARSIA_STD_MEMBER static constexpr T lowest() noexcept { return -max(); }
  TARSIA_STD_MEMBER static constexpr T epsilon() noexcept { return tarsia_f ? FLT_EPSILON : DBL_EPSILON; }
  TARSIA_STD_MEMBER static constexpr T round_error() noexcept { return T(0.5); }
  TARSIA_STD_MEMBER static constexpr T infinity() noexcept {
    return T(__builtin_bit_cast(double, 0x7ff0000000000000));
  }
  TARSIA_STD_MEMBER static constexpr T quiet_NaN() noexcept {
    return T(__builtin_bit_cast(double, 0x7ff8000000000000));
  }
  TARSIA_STD_MEMBER static constexpr T signaling_NaN() noexcept { return quiet_NaN(); }
  TARSIA_STD_MEMBER static constexpr T denorm_min() noexcept {
    return tarsia_f ? FLT_TRUE_MIN : DBL_TRUE_MIN;
  }
};

template <class T>
struct numeric_limits
    : conditional_t<
          is_integral<T>::value, tarsia_integer_limits<T>,
          conditional_t<is_floating_point<T>::value, tarsia_floating_limits<T>, tarsia_no_limits<T>>> {};
template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};
template <class T>
struct numeric_limits<volatile T> : numeric_limits<T> {};

}  // namespace std
