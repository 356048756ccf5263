// The names of dtypes in messages and in Python: "float32", "bfloat16".
#pragma once

#include <tarsia/abi.h>

#include <string>

namespace tarsia::detail {

struct NamedDtype {
  const char* name;
  uint8_t code, bits;
};

/// The dtypes with a name. Codes from 7 on are DLPack's codes of small floats.
inline constexpr NamedDtype k_dtype_names[] = {
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

/// Returns the name of a dtype: "float32", "complex64", "bool", "float8_e4m3fn", "float32x4" with four lanes,
/// or "dtype(99, 8)" for a dtype without a name.
inline std::string dtype_name(tarsia_dtype dtype) {
  std::string name;
  for (const NamedDtype& known : k_dtype_names)
    if (known.code == dtype.code && known.bits == dtype.bits) name = known.name;
  if (name.empty()) name = "dtype(" + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) + ")";
  if (dtype.lanes > 1) name += "x" + std::to_string(dtype.lanes);
  return name;
}

}  // namespace tarsia::detail
