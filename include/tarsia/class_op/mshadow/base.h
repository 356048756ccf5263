// What all of mshadow shares: devices, element types, and the functors of arithmetic, reductions and
// assignment. Device code sees this file, too.
#pragma once

#include <mshadow/half.h>

#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <dmlc/logging.h>

#if !defined(MSHADOW_USE_CUDA)
#if defined(__CUDACC__) || defined(__CUDA__)
#define MSHADOW_USE_CUDA 1
#else
#define MSHADOW_USE_CUDA 0
#endif
#endif
#define MSHADOW_USE_CBLAS 0
#define MSHADOW_USE_MKL 0
#define MSHADOW_USE_SSE 0
#define MSHADOW_IN_CXX11 1
#define MSHADOW_FORCE_INLINE inline __attribute__((always_inline))
#define MSHADOW_CINLINE inline __attribute__((always_inline))
#define MSHADOW_DEFAULT_DTYPE = ::mshadow::default_real_t
#define MSHADOW_CONSTEXPR constexpr
#define MSHADOW_ALLOC_PAD true
#define MSHADOW_THROW_EXCEPTION noexcept(false)

namespace mshadow {

typedef unsigned index_t;
typedef index_t openmp_index_t;
typedef float default_real_t;

struct cpu {
  enum { kDevCPU = 1, kDevMask = 1 << 0 };
};
struct gpu {
  enum { kDevCPU = 0, kDevMask = 1 << 1 };
};

/// The numbers of element types.
enum TypeFlag { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kUint8 = 3, kInt32 = 4, kInt8 = 5, kInt64 = 6 };

/// The orders of the axes of images and volumes.
enum LayoutFlag { kNCHW = 0, kNHWC, kCHWN, kNCW = 1 << 3, kNWC, kCWN, kNCDHW = 1 << 5, kNDHWC, kCDHWN };

template <class T>
struct DataType;
#define TARSIA_DETAIL_DATA_TYPE(type, flag) \
  template <>                               \
  struct DataType<type> {                   \
    enum { kFlag = flag, kLanes = 1 };      \
  };
TARSIA_DETAIL_DATA_TYPE(float, kFloat32)
TARSIA_DETAIL_DATA_TYPE(double, kFloat64)
TARSIA_DETAIL_DATA_TYPE(half::half_t, kFloat16)
TARSIA_DETAIL_DATA_TYPE(unsigned char, kUint8)
TARSIA_DETAIL_DATA_TYPE(int, kInt32)
TARSIA_DETAIL_DATA_TYPE(signed char, kInt8)
TARSIA_DETAIL_DATA_TYPE(char, kInt8)
TARSIA_DETAIL_DATA_TYPE(long, kInt64)
TARSIA_DETAIL_DATA_TYPE(long long, kInt64)
#undef TARSIA_DETAIL_DATA_TYPE

const int default_type_flag = kFloat32;

/// The type in which sums of T are kept.
template <class T>
struct accumulated {
  typedef T type;
};
template <>
struct accumulated<half::half_t> {
  typedef float type;
};

/// Functors of arithmetic.
namespace op {
struct mul {
  template <class T>
  MSHADOW_XINLINE static T Map(T a, T b) {
    return T(a * b);
  }
};
struct plus {
  template <class T>
  MSHADOW_XINLINE static T Map(T a, T b) {
    return T(a + b);
  }
};
struct minus {
  template <class T>
  MSHADOW_XINLINE static T Map(T a, T b) {
    return T(a - b);
  }
};
struct div {
  template <class T>
  MSHADOW_XINLINE static T Map(T a, T b) {
    return T(a / b);
  }
};
struct right {
  template <class T>
  MSHADOW_XINLINE static T Map(T, T b) {
    return b;
  }
};
struct identity {
  template <class T>
  MSHADOW_XINLINE static T Map(T a) {
    return a;
  }
};
}  // namespace op

/// Functors that save a value to a place.
namespace sv {
struct saveto {
  template <class T>
  MSHADOW_XINLINE static void Save(T& to, T value) {
    to = value;
  }
  typedef op::right OPType;
};
struct plusto {
  template <class T>
  MSHADOW_XINLINE static void Save(T& to, T value) {
    to += value;
  }
  typedef op::plus OPType;
};
struct minusto {
  template <class T>
  MSHADOW_XINLINE static void Save(T& to, T value) {
    to -= value;
  }
  typedef op::minus OPType;
};
struct multo {
  template <class T>
  MSHADOW_XINLINE static void Save(T& to, T value) {
    to *= value;
  }
  typedef op::mul OPType;
};
struct divto {
  template <class T>
  MSHADOW_XINLINE static void Save(T& to, T value) {
    to /= value;
  }
  typedef op::div OPType;
};
}  // namespace sv

/// Functors of reductions.
namespace red {
namespace limits {
/// The least number of a type.
template <class T>
MSHADOW_XINLINE T MinValue();
template <>
MSHADOW_XINLINE float MinValue<float>() {
  return -__builtin_huge_valf();
}
template <>
MSHADOW_XINLINE double MinValue<double>() {
  return -__builtin_huge_val();
}
template <>
MSHADOW_XINLINE half::half_t MinValue<half::half_t>() {
  return half::half_t::Binary(0xfc00);
}
template <>
MSHADOW_XINLINE unsigned char MinValue<unsigned char>() {
  return 0;
}
template <>
MSHADOW_XINLINE signed char MinValue<signed char>() {
  return -127 - 1;
}
template <>
MSHADOW_XINLINE int MinValue<int>() {
  return -2147483647 - 1;
}
template <>
MSHADOW_XINLINE long MinValue<long>() {
  return -9223372036854775807L - 1;
}
/// The greatest number of a type.
template <class T>
MSHADOW_XINLINE T MaxValue() {
  return static_cast<T>(-(MinValue<T>() + static_cast<T>(1)));
}
template <>
MSHADOW_XINLINE float MaxValue<float>() {
  return __builtin_huge_valf();
}
template <>
MSHADOW_XINLINE double MaxValue<double>() {
  return __builtin_huge_val();
}
template <>
MSHADOW_XINLINE half::half_t MaxValue<half::half_t>() {
  return half::half_t::Binary(0x7c00);
}
template <>
MSHADOW_XINLINE unsigned char MaxValue<unsigned char>() {
  return 255;
}
}  // namespace limits
struct sum {
  template <class T>
  MSHADOW_XINLINE static void Reduce(T& to, T value) {
    to += value;
  }
  template <class T>
  MSHADOW_XINLINE static T PartialGrad(T, T) {
    return T(1);
  }
  template <class T>
  MSHADOW_XINLINE static void SetInitValue(T& start) {
    start = T(0);
  }
};
struct maximum {
  template <class T>
  MSHADOW_XINLINE static void Reduce(T& to, T value) {
    if (!(to >= value)) to = value;
  }
  template <class T>
  MSHADOW_XINLINE static T PartialGrad(T reduced, T value) {
    return T(reduced == value ? 1 : 0);
  }
  template <class T>
  MSHADOW_XINLINE static void SetInitValue(T& start) {
    start = limits::MinValue<T>();
  }
};
struct minimum {
  template <class T>
  MSHADOW_XINLINE static void Reduce(T& to, T value) {
    if (!(to <= value)) to = value;
  }
  template <class T>
  MSHADOW_XINLINE static T PartialGrad(T reduced, T value) {
    return T(reduced == value ? 1 : 0);
  }
  template <class T>
  MSHADOW_XINLINE static void SetInitValue(T& start) {
    start = limits::MaxValue<T>();
  }
};
}  // namespace red

}  // namespace mshadow

#include <mshadow/type_switch.h>
