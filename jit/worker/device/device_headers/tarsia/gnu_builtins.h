// GNU's names of built-in functions, for device code.
//
// Work-around: NVRTC does not know GNU's built-in functions.
// Trigger: `__builtin_sqrtf` and its like, which nvcc takes in device code. Symptom: an error.
// Removal: NVRTC knows them.
#pragma once

#define TARSIA_1(name)                                   \
  inline __device__ double __builtin_##name(double x) {  \
    return ::name(x);                                    \
  }                                                      \
  inline __device__ float __builtin_##name##f(float x) { \
    return ::name##f(x);                                 \
  }
#define TARSIA_2(name)                                            \
  inline __device__ double __builtin_##name(double x, double y) { \
    return ::name(x, y);                                          \
  }                                                               \
  inline __device__ float __builtin_##name##f(float x, float y) { \
    return ::name##f(x, y);                                       \
  }
TARSIA_1(acos)
TARSIA_1(acosh)
TARSIA_1(asin)
TARSIA_1(asinh)
TARSIA_1(atan)
TARSIA_1(atanh)
TARSIA_1(cbrt)
TARSIA_1(ceil)
TARSIA_1(cos)
TARSIA_1(cosh)
TARSIA_1(erf)
TARSIA_1(erfc)
TARSIA_1(exp)
TARSIA_1(exp2)
TARSIA_1(expm1)
TARSIA_1(fabs)
TARSIA_1(floor)
TARSIA_1(lgamma)
TARSIA_1(log)
TARSIA_1(log10)
TARSIA_1(log1p)
TARSIA_1(log2)
TARSIA_1(nearbyint)
TARSIA_1(rint)
TARSIA_1(round)
TARSIA_1(sin)
TARSIA_1(sinh)
TARSIA_1(sqrt)
TARSIA_1(tan)
TARSIA_1(tanh)
TARSIA_1(tgamma)
TARSIA_1(trunc)
TARSIA_2(atan2)
TARSIA_2(copysign)
TARSIA_2(fdim)
TARSIA_2(fmax)
TARSIA_2(fmin)
TARSIA_2(fmod)
TARSIA_2(hypot)
TARSIA_2(nextafter)
TARSIA_2(pow)
TARSIA_2(remainder)
#undef TARSIA_1
#undef TARSIA_2
inline __device__ double __builtin_fma(double x, double y, double z) {
  return ::fma(x, y, z);
}
inline __device__ float __builtin_fmaf(float x, float y, float z) {
  return ::fmaf(x, y, z);
}
inline __device__ double __builtin_ldexp(double x, int n) {
  return ::ldexp(x, n);
}
inline __device__ float __builtin_ldexpf(float x, int n) {
  return ::ldexpf(x, n);
}
inline __device__ double __builtin_powi(double x, int n) {
  return ::pow(x, n);
}
inline __device__ float __builtin_powif(float x, int n) {
  return ::pow(x, n);
}
inline __device__ int __builtin_signbit(double x) {
  return ::signbit(x);
}
inline __device__ int __builtin_signbitf(float x) {
  return ::signbit(x);
}
inline __device__ double __builtin_inf() {
  return __longlong_as_double(0x7ff0000000000000LL);
}
inline __device__ float __builtin_inff() {
  return __int_as_float(0x7f800000);
}
inline __device__ double __builtin_huge_val() {
  return __builtin_inf();
}
inline __device__ float __builtin_huge_valf() {
  return __builtin_inff();
}
inline __device__ double __builtin_nan(const char*) {
  return __longlong_as_double(0x7ff8000000000000LL);
}
inline __device__ float __builtin_nanf(const char*) {
  return __int_as_float(0x7fc00000);
}
inline __device__ int __builtin_abs(int x) {
  return x < 0 ? -x : x;
}
inline __device__ long __builtin_labs(long x) {
  return x < 0 ? -x : x;
}
inline __device__ long long __builtin_llabs(long long x) {
  return x < 0 ? -x : x;
}
inline __device__ int __builtin_popcount(unsigned x) {
  return __popc(x);
}
inline __device__ int __builtin_popcountl(unsigned long x) {
  return __popcll(x);
}
inline __device__ int __builtin_popcountll(unsigned long long x) {
  return __popcll(x);
}
inline __device__ int __builtin_clz(unsigned x) {
  return __clz((int)x);
}
inline __device__ int __builtin_clzl(unsigned long x) {
  return __clzll((long long)x);
}
inline __device__ int __builtin_clzll(unsigned long long x) {
  return __clzll((long long)x);
}
inline __device__ int __builtin_ffs(int x) {
  return __ffs(x);
}
inline __device__ int __builtin_ffsl(long x) {
  return __ffsll(x);
}
inline __device__ int __builtin_ffsll(long long x) {
  return __ffsll(x);
}
inline __device__ int __builtin_ctz(unsigned x) {
  return __ffs((int)x) - 1;
}
inline __device__ int __builtin_ctzl(unsigned long x) {
  return __ffsll((long long)x) - 1;
}
inline __device__ int __builtin_ctzll(unsigned long long x) {
  return __ffsll((long long)x) - 1;
}
inline __device__ int __builtin_parity(unsigned x) {
  return __popc(x) & 1;
}
inline __device__ int __builtin_parityll(unsigned long long x) {
  return __popcll(x) & 1;
}
inline __device__ void* __builtin_memcpy(void* to, const void* from, unsigned long bytes) {
  return ::memcpy(to, from, bytes);
}
inline __device__ void* __builtin_memset(void* to, int value, unsigned long bytes) {
  return ::memset(to, value, bytes);
}
inline __device__ void __builtin_trap() {
  __trap();
}
inline __device__ unsigned short __builtin_bswap16(unsigned short x) {
  return (unsigned short)(x << 8 | x >> 8);
}
inline __device__ unsigned __builtin_bswap32(unsigned x) {
  return __byte_perm(x, 0, 0x0123);
}
inline __device__ unsigned long __builtin_bswap64(unsigned long x) {
  return (unsigned long)__builtin_bswap32((unsigned)x) << 32 | __builtin_bswap32((unsigned)(x >> 32));
}
