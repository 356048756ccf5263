// Names of dtypes ("float32", "bfloat16") and their sizes.
#pragma once

#include <tarsia/abi.h>

#include <cstring>
#include <string>
#include <string_view>

namespace tarsia::python {

inline uint32_t bits_of(tarsia_dtype dtype) {
  uint32_t bits;
  static_assert(sizeof bits == sizeof dtype);
  std::memcpy(&bits, &dtype, sizeof bits);
  return bits;
}
inline bool operator==(tarsia_dtype a, tarsia_dtype b) {
  return bits_of(a) == bits_of(b);
}

/// Bytes of one element with all its lanes.
inline int64_t item_bytes(tarsia_dtype dtype) {
  return (int64_t(dtype.bits) * dtype.lanes + 7) / 8;
}

/// "float32", "complex64", "bool", "float8_e4m3fn"; lanes as in "float32x4".
std::string dtype_name(tarsia_dtype dtype);

/// The dtype of a name, NumPy's and ml_dtypes' ones included; lanes 0 if there is none of that name.
tarsia_dtype dtype_named(std::string_view name);

/// The dtype of an array-interface typestr such as "<f4"; lanes 0 if it has none.
tarsia_dtype dtype_of_typestr(std::string_view typestr);

/// The reverse; empty for dtypes that an array interface cannot tell.
std::string typestr_of(tarsia_dtype dtype);

/// The dtype of a format of the struct module, as buffers have it; lanes 0 if it has none.
tarsia_dtype dtype_of_format(std::string_view format, int64_t item_bytes);

}  // namespace tarsia::python
