// mshadow::half::half_t: a number of 16 bits, computed with as a float. Device code sees this file, too.
#pragma once

#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
#define MSHADOW_XINLINE inline __attribute__((always_inline)) __host__ __device__
#else
#define MSHADOW_XINLINE inline __attribute__((always_inline))
#endif

namespace mshadow {
namespace half {

#if defined(__CUDA_ARCH__)
MSHADOW_XINLINE float to_float(unsigned short bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
  return value;
}
MSHADOW_XINLINE unsigned short to_bits(float value) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return bits;
}
#else
MSHADOW_XINLINE float from_word(unsigned word) {
  float value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}
MSHADOW_XINLINE float to_float(unsigned short bits) {
  // Scaling by a power of two renormalises subnormal numbers. Infinities and NaNs get the larger exponent.
  const unsigned rest = static_cast<unsigned>(bits & 0x7fff) << 13;
  const float size = (bits & 0x7c00) == 0x7c00 ? from_word(rest | 0x7f800000u)
                                               : from_word(rest) * from_word(0x77800000u);  // 2^112
  return bits & 0x8000 ? -size : size;
}
MSHADOW_XINLINE unsigned short to_bits(float value) {
  unsigned word;
  __builtin_memcpy(&word, &value, 4);
  const unsigned sign = word >> 16 & 0x8000u, size = word & 0x7fffffffu;
  if (size > 0x7f800000u) return static_cast<unsigned short>(sign | 0x7e00u);
  if (size >= 0x477ff000u) return static_cast<unsigned short>(sign | 0x7c00u);  // rounds to infinity
  if (size < 0x38800000u) {  // subnormal: adding 1/2 leaves the number of steps of 2^-24 in the last bits
    const float steps = from_word(size) + from_word(0x3f000000u);
    unsigned sum;
    __builtin_memcpy(&sum, &steps, 4);
    return static_cast<unsigned short>(sign | (sum - 0x3f000000u));
  }
  return static_cast<unsigned short>(sign | ((size - 0x38000000u + 0xfffu + (size >> 13 & 1u)) >> 13));
}
#endif

/// R, if T is a number of C++.
template <class T, class R>
struct if_number {};
#define TARSIA_DETAIL_NUMBER(T) \
  template <class R>            \
  struct if_number<T, R> {      \
    typedef R type;             \
  };
TARSIA_DETAIL_NUMBER(bool)
TARSIA_DETAIL_NUMBER(char)
TARSIA_DETAIL_NUMBER(signed char)
TARSIA_DETAIL_NUMBER(unsigned char)
TARSIA_DETAIL_NUMBER(short)
TARSIA_DETAIL_NUMBER(unsigned short)
TARSIA_DETAIL_NUMBER(int)
TARSIA_DETAIL_NUMBER(unsigned)
TARSIA_DETAIL_NUMBER(long)
TARSIA_DETAIL_NUMBER(unsigned long)
TARSIA_DETAIL_NUMBER(long long)
TARSIA_DETAIL_NUMBER(unsigned long long)
TARSIA_DETAIL_NUMBER(float)
TARSIA_DETAIL_NUMBER(double)
#undef TARSIA_DETAIL_NUMBER

class half_t {
 public:
  half_t() = default;
  template <class T, class = typename if_number<T, void>::type>
  MSHADOW_XINLINE half_t(const T& value) : half_(to_bits(static_cast<float>(value))) {}
  MSHADOW_XINLINE half_t(const half_t& other) : half_(other.half_) {}
  MSHADOW_XINLINE static half_t Binary(unsigned short bits) {
    half_t value;
    value.half_ = bits;
    return value;
  }
  MSHADOW_XINLINE half_t& operator=(const half_t& other) {
    half_ = other.half_;
    return *this;
  }
  template <class T>
  MSHADOW_XINLINE half_t& operator=(const T& value) {
    half_ = to_bits(static_cast<float>(value));
    return *this;
  }
  MSHADOW_XINLINE operator float() const { return to_float(half_); }
  template <class T>
  MSHADOW_XINLINE half_t& operator+=(const T& other) {
    return *this = static_cast<float>(*this) + static_cast<float>(other);
  }
  template <class T>
  MSHADOW_XINLINE half_t& operator-=(const T& other) {
    return *this = static_cast<float>(*this) - static_cast<float>(other);
  }
  template <class T>
  MSHADOW_XINLINE half_t& operator*=(const T& other) {
    return *this = static_cast<float>(*this) * static_cast<float>(other);
  }
  template <class T>
  MSHADOW_XINLINE half_t& operator/=(const T& other) {
    return *this = static_cast<float>(*this) / static_cast<float>(other);
  }
  MSHADOW_XINLINE half_t operator-() const { return half_t(-static_cast<float>(*this)); }

  unsigned short half_;
};

// Of a half and any number, as of two halves, the result is a half.
#define TARSIA_DETAIL_HALF_OPERATOR(result, op)                                                  \
  MSHADOW_XINLINE result operator op(const half_t& a, const half_t& b) {                         \
    return result(static_cast<float>(a) op static_cast<float>(b));                               \
  }                                                                                              \
  template <class T>                                                                             \
  MSHADOW_XINLINE typename if_number<T, result>::type operator op(const half_t& a, const T& b) { \
    return result(static_cast<float>(a) op static_cast<float>(b));                               \
  }                                                                                              \
  template <class T>                                                                             \
  MSHADOW_XINLINE typename if_number<T, result>::type operator op(const T& a, const half_t& b) { \
    return result(static_cast<float>(a) op static_cast<float>(b));                               \
  }
TARSIA_DETAIL_HALF_OPERATOR(half_t, +)
TARSIA_DETAIL_HALF_OPERATOR(half_t, -)
TARSIA_DETAIL_HALF_OPERATOR(half_t, *)
TARSIA_DETAIL_HALF_OPERATOR(half_t, /)
TARSIA_DETAIL_HALF_OPERATOR(bool, >)
TARSIA_DETAIL_HALF_OPERATOR(bool, <)
TARSIA_DETAIL_HALF_OPERATOR(bool, >=)
TARSIA_DETAIL_HALF_OPERATOR(bool, <=)
TARSIA_DETAIL_HALF_OPERATOR(bool, ==)
TARSIA_DETAIL_HALF_OPERATOR(bool, !=)
#undef TARSIA_DETAIL_HALF_OPERATOR

}  // namespace half
}  // namespace mshadow
