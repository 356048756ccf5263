// The data that the cache keeps of a module besides its bytes.
//
//   meta    := version warning_count warning* mark?        mark: cache/mark.h
//   warning := file line column severity message
//
// version, warning_count, line, column, severity are u32, little-endian; file and message a u32 length and
// bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "cache/place.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

std::string encode_meta(const std::vector<Diagnostic>& warnings);
/// Empty if the bytes do not follow the grammar: warnings are not worth a compile.
std::vector<Diagnostic> decode_meta(std::string_view meta);

/// Diagnostics with their files by names (cache/place.h), to be kept for other places.
std::vector<Diagnostic> named_files(std::vector<Diagnostic> diagnostics, const cache::Place& place);
/// … and by paths again, at the place of the request.
void move_to(std::vector<Diagnostic>& diagnostics, const jit::CompileRequest& request);

}  // namespace tarsia::pipeline
