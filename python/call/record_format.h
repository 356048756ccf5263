// Compares records of buffers with the structs of C++.
#pragma once

#include <tarsia/abi.h>

#include <cstdint>
#include <string>

namespace tarsia::python {

/// Whether a buffer's items can be structs of these fields (tarsia_type::elements, not null), by its format
/// (PEP 3118). Numbers have to lie at the same places, and to be of the same kind and size; single bytes fit
/// each other. Names do not matter. A format of nothing but single bytes fits, and so does one that cannot be
/// read.
bool fits_fields(const char* format, std::uint32_t item_bytes, const tarsia_type* fields);

/// The numbers of one item, as "int32 at byte 0, float32 at byte 4". Empty if the format cannot be read.
std::string fields_text(const char* format, std::uint32_t item_bytes);

}  // namespace tarsia::python
