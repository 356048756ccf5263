// A reader of a shared library's dynamic section.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/machine/sanitizer.h"

namespace tarsia::registry {

struct ElfLibrary {
  std::vector<std::string> needed;          ///< DT_NEEDED, in order
  std::vector<std::string> tarsia_symbols;  ///< defined dynamic symbols that begin with tarsia_
  bool has_mxnet_symbols = false;           ///< it speaks MXNet's extension API, by its C symbols
  bool has_effects = false;                 ///< TARSIA_EFFECTS_SYMBOL
  bool has_unique_symbols = false;          ///< STB_GNU_UNIQUE: stays mapped after dlclose
  /// It calls, or may call, functions of the CUDA runtime other than those that register, launch and report
  /// errors.
  bool calls_cuda_runtime = false;
  const Sanitizer* sanitizer = nullptr;   ///< whose run-time library it needs; null: none
  std::vector<std::string> cpu_features;  ///< that its code needs, by LLVM's names, as far as it says so
  std::uint64_t image_bytes = 0;          ///< where the last of its segments and tables ends
};

/// Reads a shared library of this machine. Throws LoadError, naming `path`, if it is none, is truncated, or
/// is of another machine.
ElfLibrary read_elf(std::string_view bytes, const std::string& path);

/// The symbols that a shared library shows to others, sorted, without those of Tarsia's.
std::vector<std::string> shown_symbols(std::string_view bytes, const std::string& path);

/// Whether a module of Tarsia's own compiler lists functions, kernels or templates of them.
bool lists_entries(std::string_view bytes, const std::string& path);
/// The number of functions that run when it is mapped.
std::uint64_t count_initializers(std::string_view bytes, const std::string& path);

}  // namespace tarsia::registry
