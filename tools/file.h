// The command's reader of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tarsia::tools {

/// Reads a file of any kind, a pipe or a device among them, from its beginning; "-" is standard input. Stops
/// after `most` bytes. Returns 0, or an errno with what was read until then.
int read_file(const std::string& path, std::string& bytes, std::size_t most = SIZE_MAX);

}  // namespace tarsia::tools
