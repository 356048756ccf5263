// The data that the cache keeps of a module besides its bytes.
//
//   meta    := version warning_count warning*
//   warning := file line column severity message
//
// version, warning_count, line, column, severity are u32, little-endian; file and message a u32 length and
// bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"

namespace tarsia::pipeline {

std::string encode_meta(const std::vector<Diagnostic>& warnings);
/// Empty if the bytes do not follow the grammar: warnings are not worth a compile.
std::vector<Diagnostic> decode_meta(std::string_view meta);

}  // namespace tarsia::pipeline
