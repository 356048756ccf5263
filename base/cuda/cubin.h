// A reader of cubins: kernels and variables by name, and the resources that a kernel needs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia {

struct CubinSymbol {
  enum class Kind { kernel, function, variable };
  Kind kind = Kind::function;
  std::string name;  ///< mangled
  bool managed = false;
  size_t bytes = 0;
};

/// The symbols of device code; empty if the bytes are no cubin. Never reads outside of them.
std::vector<CubinSymbol> cubin_symbols(std::string_view cubin);

/// The content of a section; empty if there is none.
std::string cubin_section(std::string_view cubin, std::string_view name);

/// A kernel's needs of a GPU, from its cubin.
struct KernelResources {
  int registers = 0;
  int shared_bytes = 0;    ///< static
  int local_bytes = 0;     ///< a thread's
  int constant_bytes = 0;  ///< of the whole file: __constant__ variables
  int max_threads = 0;     ///< of a block, by __launch_bounds__; 0: none are declared
};

/// By its mangled name; none if the bytes are no cubin or hold no such kernel.
std::optional<KernelResources> kernel_resources(std::string_view cubin, const std::string& symbol);

/// Whether the bytes begin as an ELF file for CUDA does.
bool is_cubin(std::string_view bytes);

/// Whether this mangled name belongs to the variable of this qualified name ("ns::table").
bool is_name_of(std::string_view mangled, std::string_view qualified_name);

/// The symbol of a variable by its qualified name ("ns::table"). Ignores names made up for internal
/// linkage. Empty if there is none.
///
/// Work-around: NVRTC takes no name expression for a managed variable.
/// Trigger: a `__managed__` variable. Symptom: NVRTC does not tell its symbol, without which the CUDA runtime
/// cannot register it. Removal: NVRTC takes `&ns::table` for managed variables too.
std::string find_variable(const std::vector<CubinSymbol>& symbols, std::string_view qualified_name);

}  // namespace tarsia
