// The switches over element types, and their names. <mshadow/base.h> includes this.
#pragma once

#include <mshadow/base.h>

namespace mshadow {
inline const char* dtype_string(int flag) {
  static const char* const names[] = {"float", "double", "half", "uint8_t", "int32_t", "int8_t", "int64_t"};
  return flag >= 0 && flag < 7 ? names[flag] : "an unknown type";
}
inline size_t mshadow_sizeof(int flag) {
  static const size_t sizes[] = {4, 8, 2, 1, 4, 1, 8};
  if (flag < 0 || flag >= 7) LOG(FATAL) << "Unknown type enum " << flag;
  return sizes[flag];
}
}  // namespace mshadow

#define TARSIA_DETAIL_TYPE_CASE(flag, Alias, Type, ...) \
  case flag: {                                          \
    typedef Type Alias;                                 \
    {                                                   \
      __VA_ARGS__                                       \
    }                                                   \
  } break;
#define TARSIA_DETAIL_TYPE_DEFAULT(type)                                                 \
  default:                                                                               \
    LOG(FATAL) << "the element type " << ::mshadow::dtype_string(type) << " (" << (type) \
               << ") is not supported here"

/// Runs its last argument with DType as the element type of that number.
#define MSHADOW_TYPE_SWITCH(type, DType, ...)                                                 \
  switch (type) {                                                                             \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat32, DType, float, __VA_ARGS__)                   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat64, DType, double, __VA_ARGS__)                  \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat16, DType, ::mshadow::half::half_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kUint8, DType, uint8_t, __VA_ARGS__)                   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt32, DType, int32_t, __VA_ARGS__)                   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt8, DType, int8_t, __VA_ARGS__)                     \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt64, DType, int64_t, __VA_ARGS__)                   \
    TARSIA_DETAIL_TYPE_DEFAULT(type);                                                         \
  }
#define MSHADOW_REAL_TYPE_SWITCH(type, DType, ...)                                            \
  switch (type) {                                                                             \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat32, DType, float, __VA_ARGS__)                   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat64, DType, double, __VA_ARGS__)                  \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat16, DType, ::mshadow::half::half_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_DEFAULT(type);                                                         \
  }
#define MSHADOW_SGL_DBL_TYPE_SWITCH(type, DType, ...)                        \
  switch (type) {                                                            \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat32, DType, float, __VA_ARGS__)  \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat64, DType, double, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_DEFAULT(type);                                        \
  }
#define MSHADOW_INT_TYPE_SWITCH(type, DType, ...)                           \
  switch (type) {                                                           \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kUint8, DType, uint8_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt8, DType, int8_t, __VA_ARGS__)   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt32, DType, int32_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt64, DType, int64_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_DEFAULT(type);                                       \
  }
#define TARSIA_DETAIL_TYPE_CASE_EX(flag, Alias, Type, Second, SecondType, ...) \
  case flag: {                                                                 \
    typedef Type Alias;                                                        \
    typedef SecondType Second;                                                 \
    {                                                                          \
      __VA_ARGS__                                                              \
    }                                                                          \
  } break;
/// As above; DLargeType is the type in which sums are kept.
#define MSHADOW_REAL_TYPE_SWITCH_EX(type, DType, DLargeType, ...)                                      \
  switch (type) {                                                                                      \
    TARSIA_DETAIL_TYPE_CASE_EX(::mshadow::kFloat32, DType, float, DLargeType, float, __VA_ARGS__)      \
    TARSIA_DETAIL_TYPE_CASE_EX(::mshadow::kFloat64, DType, double, DLargeType, double, __VA_ARGS__)    \
    TARSIA_DETAIL_TYPE_CASE_EX(::mshadow::kFloat16, DType, ::mshadow::half::half_t, DLargeType, float, \
                               __VA_ARGS__)                                                            \
    TARSIA_DETAIL_TYPE_DEFAULT(type);                                                                  \
  }
#define MSHADOW_LAYOUT_SWITCH(layout, Layout, ...)      \
  switch (layout) {                                     \
    case ::mshadow::kNCHW: {                            \
      const int Layout = ::mshadow::kNCHW;              \
      {                                                 \
        __VA_ARGS__                                     \
      }                                                 \
    } break;                                            \
    case ::mshadow::kNHWC: {                            \
      const int Layout = ::mshadow::kNHWC;              \
      {                                                 \
        __VA_ARGS__                                     \
      }                                                 \
    } break;                                            \
    default:                                            \
      LOG(FATAL) << "Unknown layout enum " << (layout); \
  }
