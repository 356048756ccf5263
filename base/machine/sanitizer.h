// The sanitizers whose run-time library must be in a process from its start.
#pragma once

#include <string>
#include <string_view>

namespace tarsia {

struct Sanitizer {
  std::string_view mode;  ///< the value of the option debug: "address", "thread"
  const char* name;       ///< "AddressSanitizer"
  const char* start;      ///< the function by which each module asks for the library: "__asan_init"
  const char* file;       ///< the library's, of LLVM
  const char* options;    ///< the variable that holds its options: "ASAN_OPTIONS"
  const char* quiet;  ///< options that Tarsia needs: what its own code does is none of the program's faults
};

/// The sanitizer of a value of the option debug; null: the value asks for none.
const Sanitizer* sanitizer_of_mode(std::string_view mode);
/// The sanitizer that a module with this undefined symbol needs; null: the symbol is none of its kind.
const Sanitizer* sanitizer_of_symbol(std::string_view symbol);

/// Whether this process has a run-time library for it, LLVM's or GCC's.
bool is_in_process(const Sanitizer& sanitizer);

/// Whether it has one for any of them.
bool is_sanitizer_in_process();

/// The run-time library to preload: the one that lies beside Tarsia, else one of this machine's LLVM. "" if
/// there is none.
std::string library_of(const Sanitizer& sanitizer);

/// Throws LoadError, which says how to start the program, unless the process has it. `what` would be loaded.
/// TARSIA_RUNS_SCRIPT in the environment says that the program was started that way.
void require_in_process(const Sanitizer& sanitizer, const std::string& what);

}  // namespace tarsia
