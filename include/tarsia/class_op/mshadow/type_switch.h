// The switches over element types, and their names. <mshadow/base.h> includes this.
#pragma once

#include <mshadow/base.h>

#include <string>

#include <tarsia/class_op/glue/host.h>
#include <tarsia/class_op/glue/support.h>

namespace mshadow {
inline const char* dtype_string(int flag) {
  static const char* const names[] = {"float", "double", "half", "uint8_t", "int32_t", "int8_t", "int64_t"};
  return flag >= 0 && flag < 7 ? names[flag] : "an unknown type";
}
namespace tarsia_detail {
enum { k_types = 7 };
/// The dtype of an element type's number, which is one of 0 … k_types - 1.
inline tarsia_dtype dtype_of(int flag) {
  static const tarsia_dtype all[k_types] = {
      {TARSIA_FLOAT, 32, 1}, {TARSIA_FLOAT, 64, 1}, {TARSIA_FLOAT, 16, 1}, {TARSIA_UINT, 8, 1},
      {TARSIA_INT, 32, 1},   {TARSIA_INT, 8, 1},    {TARSIA_INT, 64, 1}};
  return all[flag];
}
}  // namespace tarsia_detail
inline size_t mshadow_sizeof(int flag) {
  if (flag < 0 || flag >= tarsia_detail::k_types) LOG(FATAL) << "Unknown type enum " << flag;
  return tarsia_detail::dtype_of(flag).bits / 8u;
}
}  // namespace mshadow

#if defined(TARSIA_DETAIL_GLUE_IS_LINKED)
#pragma GCC visibility push(hidden)
namespace mshadow {
namespace tarsia_detail {
/// Throws: a switch has no case for the type (messages.h).
[[noreturn]] void refuse_type(const char* file, int line, int flag, const char* taken);
}  // namespace tarsia_detail
}  // namespace mshadow
#pragma GCC visibility pop
#else
#include <tarsia/class_op/glue/messages.h>
#endif

#define TARSIA_DETAIL_TYPE_CASE(flag, Alias, Type, ...) \
  case flag: {                                          \
    typedef Type Alias;                                 \
    {                                                   \
      __VA_ARGS__                                       \
    }                                                   \
  } break;
#define TARSIA_DETAIL_TYPE_DEFAULT(type, taken) \
  default:                                      \
    ::mshadow::tarsia_detail::refuse_type(__FILE__, __LINE__, (type), taken)

/// Runs its last argument with DType as the element type of that number.
#define MSHADOW_TYPE_SWITCH(type, DType, ...)                                                   \
  switch (type) {                                                                               \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat32, DType, float, __VA_ARGS__)                     \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat64, DType, double, __VA_ARGS__)                    \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat16, DType, ::mshadow::half::half_t, __VA_ARGS__)   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kUint8, DType, uint8_t, __VA_ARGS__)                     \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt32, DType, int32_t, __VA_ARGS__)                     \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt8, DType, int8_t, __VA_ARGS__)                       \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt64, DType, int64_t, __VA_ARGS__)                     \
    TARSIA_DETAIL_TYPE_DEFAULT(type, "float32, float64, float16, uint8, int8, int32 or int64"); \
  }
#define MSHADOW_REAL_TYPE_SWITCH(type, DType, ...)                                            \
  switch (type) {                                                                             \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat32, DType, float, __VA_ARGS__)                   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat64, DType, double, __VA_ARGS__)                  \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat16, DType, ::mshadow::half::half_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_DEFAULT(type, "float32, float64 or float16");                          \
  }
#define MSHADOW_SGL_DBL_TYPE_SWITCH(type, DType, ...)                        \
  switch (type) {                                                            \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat32, DType, float, __VA_ARGS__)  \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kFloat64, DType, double, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_DEFAULT(type, "float32 or float64");                  \
  }
#define MSHADOW_INT_TYPE_SWITCH(type, DType, ...)                           \
  switch (type) {                                                           \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kUint8, DType, uint8_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt8, DType, int8_t, __VA_ARGS__)   \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt32, DType, int32_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt64, DType, int64_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_DEFAULT(type, "uint8, int8, int32 or int64");        \
  }
#define MSHADOW_IDX_TYPE_SWITCH(type, DType, ...)                           \
  switch (type) {                                                           \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt32, DType, int32_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_CASE(::mshadow::kInt64, DType, int64_t, __VA_ARGS__) \
    TARSIA_DETAIL_TYPE_DEFAULT(type, "int32 or int64");                     \
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
    TARSIA_DETAIL_TYPE_DEFAULT(type, "float32, float64 or float16");                                   \
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
