// A reader of a shared library's dynamic section.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::registry {

struct ElfLibrary {
  std::vector<std::string> needed;          ///< DT_NEEDED, in order
  std::vector<std::string> tarsia_symbols;  ///< defined dynamic symbols that begin with tarsia_
  bool has_mxnet_symbols = false;   ///< it registers ops through MXNet's extension API, by its C symbols
  bool has_unique_symbols = false;  ///< STB_GNU_UNIQUE: stays mapped after dlclose
  bool has_debug_info = false;      ///< for debuggers and sanitizers
  /// It calls functions of the CUDA runtime other than those that register, launch and tell errors, or may.
  bool calls_cuda_runtime = false;
  std::uint64_t image_bytes = 0;  ///< where the last of its segments and tables ends
};

/// Reads a shared library of this machine. Throws LoadError, naming `path`, for what is none, is truncated,
/// or is of another machine.
ElfLibrary read_elf(std::string_view bytes, const std::string& path);

/// Whether a module of Tarsia's own compiler lists functions, kernels or templates of them.
bool lists_entries(std::string_view bytes, const std::string& path);
/// How many functions run when it is mapped.
std::uint64_t count_initializers(std::string_view bytes, const std::string& path);

}  // namespace tarsia::registry
