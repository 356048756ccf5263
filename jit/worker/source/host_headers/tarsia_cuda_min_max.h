// The host's min and max of CUDA's math header (CUDA Math API, names and meanings). Clang's own wrapper of
// the header has the device's alone, and reads the bodies of host functions, too, when it compiles for the
// device.
#pragma once
#define TARSIA_MIN_MAX(A, B, R)               \
  static inline R min(const A x, const B y) { \
    return (R)x < (R)y ? (R)x : (R)y;         \
  }                                           \
  static inline R max(const A x, const B y) { \
    return (R)x > (R)y ? (R)x : (R)y;         \
  }
TARSIA_MIN_MAX(int, int, int)
TARSIA_MIN_MAX(unsigned int, unsigned int, unsigned int)
TARSIA_MIN_MAX(int, unsigned int, unsigned int)
TARSIA_MIN_MAX(unsigned int, int, unsigned int)
TARSIA_MIN_MAX(long int, long int, long int)
TARSIA_MIN_MAX(unsigned long int, unsigned long int, unsigned long int)
TARSIA_MIN_MAX(long int, unsigned long int, unsigned long int)
TARSIA_MIN_MAX(unsigned long int, long int, unsigned long int)
TARSIA_MIN_MAX(long long int, long long int, long long int)
TARSIA_MIN_MAX(unsigned long long int, unsigned long long int, unsigned long long int)
TARSIA_MIN_MAX(long long int, unsigned long long int, unsigned long long int)
TARSIA_MIN_MAX(unsigned long long int, long long int, unsigned long long int)
#undef TARSIA_MIN_MAX
static inline float min(const float x, const float y) {
  return __builtin_fminf(x, y);
}
static inline float max(const float x, const float y) {
  return __builtin_fmaxf(x, y);
}
static inline double min(const double x, const double y) {
  return __builtin_fmin(x, y);
}
static inline double max(const double x, const double y) {
  return __builtin_fmax(x, y);
}
static inline double min(const float x, const double y) {
  return __builtin_fmin(x, y);
}
static inline double max(const float x, const double y) {
  return __builtin_fmax(x, y);
}
static inline double min(const double x, const float y) {
  return __builtin_fmin(x, y);
}
static inline double max(const double x, const float y) {
  return __builtin_fmax(x, y);
}
static inline unsigned int umin(const unsigned int x, const unsigned int y) {
  return x < y ? x : y;
}
static inline unsigned int umax(const unsigned int x, const unsigned int y) {
  return x > y ? x : y;
}
static inline long long int llmin(const long long int x, const long long int y) {
  return x < y ? x : y;
}
static inline long long int llmax(const long long int x, const long long int y) {
  return x > y ? x : y;
}
static inline unsigned long long int ullmin(const unsigned long long int x, const unsigned long long int y) {
  return x < y ? x : y;
}
static inline unsigned long long int ullmax(const unsigned long long int x, const unsigned long long int y) {
  return x > y ? x : y;
}
