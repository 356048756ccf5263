// What stands in a module where a library on disk names the folders of the libraries that it needs.
//
// Problem: a module that names these folders differs from machine to machine, so that no other could use it.
// Choice: the linker leaves room for them, a text as long as many paths that leads nowhere. The loader is
// told the folders and writes them over this text in a copy of the module. An export to a file does the same.
#pragma once

#include <cstddef>
#include <string>

namespace tarsia {

/// The most bytes that the folders may have, with the colons between them and the NUL at the end.
inline constexpr std::size_t k_run_path_bytes = 4096;

/// The text in their place. It is one path: the dynamic linker strips the slashes at its end, and no folder
/// lies below a device.
inline std::string unknown_run_path() {
  std::string text = "/dev/null/tarsia";
  text.resize(k_run_path_bytes, '/');
  return text;
}

}  // namespace tarsia
