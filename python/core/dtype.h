// Names of dtypes ("float32", "bfloat16") and their sizes.
#pragma once

#include <tarsia/detail/argument_rules.h>
#include <tarsia/detail/names.h>

#include <string>
#include <string_view>

namespace tarsia::python {

using arguments::bits_of;
using tarsia::detail::dtype_name;

inline bool operator==(tarsia_dtype a, tarsia_dtype b) {
  return bits_of(a) == bits_of(b);
}

/// Bytes of one element with all its lanes.
inline int64_t item_bytes(tarsia_dtype dtype) {
  return (int64_t(dtype.bits) * dtype.lanes + 7) / 8;
}

/// The dtype of a name, also of NumPy and ml_dtypes; lanes are 0 if the name is unknown.
tarsia_dtype dtype_named(std::string_view name);

/// The dtype of an array-interface typestr such as "<f4"; lanes 0 if it has none.
tarsia_dtype dtype_of_typestr(std::string_view typestr);

/// The reverse; empty for dtypes that array interfaces do not have.
std::string typestr_of(tarsia_dtype dtype);

/// A number in a format of the struct module: its letter, tarsia_dtype_code, and bytes in the standard's size
/// and in that of this machine's C.
struct FormatType {
  char letter;
  uint8_t code, bytes, native_bytes;
};
/// Null if the letter is none of a number.
const FormatType* format_type(char letter);

/// The dtype of a format of the struct module, as in buffers; lanes are 0 if it has none.
tarsia_dtype dtype_of_format(std::string_view format, int64_t item_bytes);

}  // namespace tarsia::python
