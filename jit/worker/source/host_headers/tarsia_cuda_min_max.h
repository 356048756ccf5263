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
#define TARSIA_FLOAT_MIN_MAX(A, B, R)         \
  static inline R min(const A x, const B y) { \
    return (R)__builtin_fmin(x, y);           \
  }                                           \
  static inline R max(const A x, const B y) { \
    return (R)__builtin_fmax(x, y);           \
  }
TARSIA_FLOAT_MIN_MAX(float, float, float)
TARSIA_FLOAT_MIN_MAX(double, double, double)
TARSIA_FLOAT_MIN_MAX(float, double, double)
TARSIA_FLOAT_MIN_MAX(double, float, double)
#undef TARSIA_FLOAT_MIN_MAX
#define TARSIA_NAMED_MIN_MAX(PREFIX, T)               \
  static inline T PREFIX##min(const T x, const T y) { \
    return x < y ? x : y;                             \
  }                                                   \
  static inline T PREFIX##max(const T x, const T y) { \
    return x > y ? x : y;                             \
  }
TARSIA_NAMED_MIN_MAX(u, unsigned int)
TARSIA_NAMED_MIN_MAX(ll, long long int)
TARSIA_NAMED_MIN_MAX(ull, unsigned long long int)
#undef TARSIA_NAMED_MIN_MAX
