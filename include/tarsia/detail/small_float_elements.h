// float16 and bfloat16 elements, stored as 16 bits, that convert to and from float. Includes nothing about
// tensors, so that libtarsia can use it too.
#pragma once

#include <tarsia/device.h>

namespace tarsia {

namespace detail {
TARSIA_HOST_DEVICE inline unsigned bits_of(float value_) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value_);
#else
  unsigned bits_;
  __builtin_memcpy(&bits_, &value_, 4);
  return bits_;
#endif
}
TARSIA_HOST_DEVICE inline float float_of(unsigned bits_) {
#if defined(__CUDA_ARCH__)
  return __uint_as_float(bits_);
#else
  float value_;
  __builtin_memcpy(&value_, &bits_, 4);
  return value_;
#endif
}
}  // namespace detail

/// An element of a float16 tensor. It converts to and from float, rounding to nearest, ties to even.
struct half_element {
  unsigned short bits;  ///< sign, 5 bits of exponent, 10 of mantissa

  half_element() = default;
  /// Makes an element of its bits.
  TARSIA_HOST_DEVICE static half_element of_bits(unsigned short bits_) {
    half_element element_;
    element_.bits = bits_;
    return element_;
  }
  /// Rounds a float.
  TARSIA_HOST_DEVICE half_element(float value_) : bits(round(value_)) {}
  /// The value, exactly.
  TARSIA_HOST_DEVICE operator float() const { return widen(bits); }

#if defined(__CUDA_ARCH__)
  static __device__ unsigned short round(float value_) {
    unsigned short bits_;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits_) : "f"(value_));
    return bits_;
  }
  static __device__ float widen(unsigned short bits_) {
    float value_;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value_) : "h"(bits_));
    return value_;
  }
#else
  /// Returns the bits of a float, rounded to nearest, ties to even.
  TARSIA_HOST_DEVICE static unsigned short round(float value_) {
    unsigned bits_ = detail::bits_of(value_);
    const unsigned sign_ = (bits_ >> 16) & 0x8000;
    bits_ &= 0x7fffffff;
    if (bits_ > 0x7f800000) return static_cast<unsigned short>(sign_ | 0x7e00);
    if (bits_ >= 0x477ff000) return static_cast<unsigned short>(sign_ | 0x7c00);  // 65520 and more
    if (bits_ < 0x38800000) {  // below the smallest normal: adding 0.5 rounds at the right place
      bits_ = detail::bits_of(detail::float_of(bits_) + 0.5f);
      return static_cast<unsigned short>(sign_ | (bits_ - 0x3f000000));
    }
    return static_cast<unsigned short>(sign_ | ((bits_ + 0xc8000fff + ((bits_ >> 13) & 1)) >> 13));
  }
  /// Returns the value of bits, exactly.
  TARSIA_HOST_DEVICE static float widen(unsigned short bits_) {
    const unsigned sign_ = (bits_ & 0x8000u) << 16, exponent_ = (bits_ >> 10) & 31, mantissa_ = bits_ & 0x3ff;
    if (!exponent_) {
      const float value_ = static_cast<float>(mantissa_) * 5.9604644775390625e-8f;  // 2^-24
      return sign_ ? -value_ : value_;
    }
    return detail::float_of(sign_ | (exponent_ == 31 ? 0x7f800000u : (exponent_ + 112) << 23) |
                            (mantissa_ << 13));
  }
#endif
};

/// An element of a bfloat16 tensor. It converts to and from float, rounding to nearest, ties to even.
struct bfloat_element {
  unsigned short bits;  ///< the upper half of a float's bits

  bfloat_element() = default;
  /// Makes an element of its bits.
  TARSIA_HOST_DEVICE static bfloat_element of_bits(unsigned short bits_) {
    bfloat_element element_;
    element_.bits = bits_;
    return element_;
  }
  /// Rounds a float.
  TARSIA_HOST_DEVICE bfloat_element(float value_) : bits(round(value_)) {}
  /// The value, exactly.
  TARSIA_HOST_DEVICE operator float() const { return detail::float_of(static_cast<unsigned>(bits) << 16); }
  /// Returns the bits of a float, rounded to nearest, ties to even.
  TARSIA_HOST_DEVICE static unsigned short round(float value_) {
    const unsigned bits_ = detail::bits_of(value_);
    if ((bits_ & 0x7fffffff) > 0x7f800000) return static_cast<unsigned short>((bits_ >> 16) | 0x40);
    return static_cast<unsigned short>((bits_ + 0x7fff + ((bits_ >> 16) & 1)) >> 16);
  }
};

}  // namespace tarsia
