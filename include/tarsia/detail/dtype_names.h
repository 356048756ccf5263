// The names of dtypes: "float32", "bfloat16". Keeps to C++11 and includes no std header, for
// <tarsia/tensor.h>; names.h has them as std::string.
#pragma once

#include <tarsia/detail/macros_push.h>

#include <stddef.h>

#include <tarsia/abi.h>

#include <tarsia/detail/support.h>

#pragma GCC visibility push(hidden)
namespace tarsia {
namespace detail {

struct NamedDtype {
  const char* name;
  uint8_t code, bits;
};

/// Rows of a table, for loops.
struct NamedDtypes {
  const NamedDtype *first_, *last_;
  const NamedDtype* begin() const { return first_; }
  const NamedDtype* end() const { return last_; }
};

/// The dtypes with a name. Codes from 7 on are DLPack's codes of small floats.
TARSIA_DETAIL_SUPPORT NamedDtypes dtype_names() {
  static const NamedDtype rows_[] = {
      {"bool", TARSIA_BOOL, 8},
      {"int8", TARSIA_INT, 8},
      {"int16", TARSIA_INT, 16},
      {"int32", TARSIA_INT, 32},
      {"int64", TARSIA_INT, 64},
      {"uint8", TARSIA_UINT, 8},
      {"uint16", TARSIA_UINT, 16},
      {"uint32", TARSIA_UINT, 32},
      {"uint64", TARSIA_UINT, 64},
      {"float16", TARSIA_FLOAT, 16},
      {"float32", TARSIA_FLOAT, 32},
      {"float64", TARSIA_FLOAT, 64},
      {"bfloat16", TARSIA_BFLOAT, 16},
      {"complex32", TARSIA_COMPLEX, 32},
      {"complex64", TARSIA_COMPLEX, 64},
      {"complex128", TARSIA_COMPLEX, 128},
      {"float8_e3m4", 7, 8},
      {"float8_e4m3", 8, 8},
      {"float8_e4m3b11fnuz", 9, 8},
      {"float8_e4m3fn", 10, 8},
      {"float8_e4m3fnuz", 11, 8},
      {"float8_e5m2", 12, 8},
      {"float8_e5m2fnuz", 13, 8},
      {"float8_e8m0fnu", 14, 8},
      {"float6_e2m3fn", 15, 6},
      {"float6_e3m2fn", 16, 6},
      {"float4_e2m1fn", 17, 4},
  };
  return {rows_, rows_ + sizeof(rows_) / sizeof(*rows_)};
}

/// The name of a dtype's elements, whatever its lanes; null if they have none.
TARSIA_DETAIL_SUPPORT const char* element_name(tarsia_dtype dtype_) {
  for (const NamedDtype& known_ : dtype_names())
    if (known_.code == dtype_.code && known_.bits == dtype_.bits) return known_.name;
  return nullptr;
}

/// The dtype of a name of `length_` bytes; its lanes are 0 if there is none of that name.
TARSIA_DETAIL_SUPPORT tarsia_dtype dtype_named(const char* name_, size_t length_) {
  for (const NamedDtype& known_ : dtype_names())
    if (__builtin_strlen(known_.name) == length_ && !__builtin_memcmp(known_.name, name_, length_))
      return {known_.code, known_.bits, 1};
  return {0, 0, 0};
}
inline tarsia_dtype dtype_named(const char* name_) {
  return dtype_named(name_, __builtin_strlen(name_));
}

/// Whether elements of a dtype with a name are bools, integers or floats of 16 bits at least, as C++ computes
/// with them.
inline bool is_computed_with(uint8_t code_) {
  return code_ <= TARSIA_BOOL && code_ != TARSIA_COMPLEX;
}

}  // namespace detail
}  // namespace tarsia
#pragma GCC visibility pop

#include <tarsia/detail/macros_pop.h>
