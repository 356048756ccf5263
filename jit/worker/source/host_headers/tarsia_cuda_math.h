// The functions that CUDA's math header adds to the C library's on the host (CUDA Math API, names and
// meanings). Work-around: CUDA's headers declare the C library's functions again, see
// jit/worker/source/host_headers/tarsia_cuda_host.h.
#pragma once
#include <tarsia_cuda_min_max.h>
static inline double rsqrt(double x) {
  return 1.0 / __builtin_sqrt(x);
}
static inline float rsqrtf(float x) {
  return 1.0f / __builtin_sqrtf(x);
}
static inline float rsqrt(float x) {
  return rsqrtf(x);
}
static inline double rcbrt(double x) {
  return 1.0 / __builtin_cbrt(x);
}
static inline float rcbrtf(float x) {
  return 1.0f / __builtin_cbrtf(x);
}
static inline double sinpi(double x) {
  return __builtin_sin(x * 3.14159265358979323846);
}
static inline double cospi(double x) {
  return __builtin_cos(x * 3.14159265358979323846);
}
static inline float sinpif(float x) {
  return (float)sinpi((double)x);
}
static inline float cospif(float x) {
  return (float)cospi((double)x);
}
static inline void sincospi(double x, double* s, double* c) {
  *s = sinpi(x);
  *c = cospi(x);
}
static inline void sincospif(float x, float* s, float* c) {
  *s = sinpif(x);
  *c = cospif(x);
}
static inline double normcdf(double x) {
  return 0.5 * __builtin_erfc(-x * 0.70710678118654752440);
}
static inline float normcdff(float x) {
  return (float)normcdf((double)x);
}
static inline double erfcx(double x) {
  return __builtin_exp(x * x) * __builtin_erfc(x);
}
static inline float erfcxf(float x) {
  return (float)erfcx((double)x);
}
static inline double rhypot(double x, double y) {
  return 1.0 / __builtin_hypot(x, y);
}
static inline float rhypotf(float x, float y) {
  return 1.0f / __builtin_hypotf(x, y);
}
static inline double norm3d(double a, double b, double c) {
  return __builtin_sqrt(a * a + b * b + c * c);
}
static inline float norm3df(float a, float b, float c) {
  return __builtin_sqrtf(a * a + b * b + c * c);
}
static inline double rnorm3d(double a, double b, double c) {
  return 1.0 / norm3d(a, b, c);
}
static inline float rnorm3df(float a, float b, float c) {
  return 1.0f / norm3df(a, b, c);
}
static inline double norm4d(double a, double b, double c, double d) {
  return __builtin_sqrt(a * a + b * b + c * c + d * d);
}
static inline float norm4df(float a, float b, float c, float d) {
  return __builtin_sqrtf(a * a + b * b + c * c + d * d);
}
