// What a cubin holds: its architecture and its kernels and variables by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::jit {

struct CubinSymbol {
  enum class Kind { kernel, function, variable };
  Kind kind = Kind::function;
  std::string name;  ///< mangled
  bool managed = false;
  size_t bytes = 0;
};

/// The symbols of device code; nothing if the bytes are no cubin. Never reads outside of them.
std::vector<CubinSymbol> cubin_symbols(std::string_view cubin);

/// The content of a section; empty if there is none.
std::string cubin_section(std::string_view cubin, std::string_view name);

/// Whether the bytes begin as an ELF file for CUDA does.
bool is_cubin(std::string_view bytes);

/// The symbol of a variable by its qualified name ("ns::table"), for those that no name expression can name.
/// Names made up for internal linkage are looked through. Empty if there is none.
std::string find_variable(const std::vector<CubinSymbol>& symbols, std::string_view qualified_name);

}  // namespace tarsia::jit
