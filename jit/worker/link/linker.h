// LLD in this process: objects in memory become a shared library in memory.
#pragma once

#include <string>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

struct LinkInput {
  std::string name;   ///< for diagnostics: the source file
  std::string bytes;  ///< an ELF object
};

/// What of Tarsia's own goes in beside the inputs.
struct LinkParts {
  bool cuda = false;             ///< the registration of device code, and the CUDA runtime
  bool has_main = false;         ///< the runner of a program's main
  bool whole_libraries = false;  ///< link against the system's libraries, not excerpts: to compare
};

struct LinkResult {
  bool ok = false;
  bool can_link_again = true;  ///< false: LLD gave up half-way, and this process must link no more
  std::string module;
  std::vector<Diagnostic> diagnostics;
  std::vector<Dependency> dependencies;  ///< the user's libraries, and what they consist of
};

/// Reads what every link needs of this machine's libraries, unless that has happened. Any thread; the first
/// link waits for it.
void prepare_links();

/// Links against the C and C++ run time of this machine, the CUDA runtime if asked for, and the user's
/// libraries (user_libraries.h). Undefined symbols are errors. One link at a time in a process. A crash of
/// LLD's is one of the process.
LinkResult link(const CompileRequest& request, const std::vector<LinkInput>& inputs, LinkParts parts);

}  // namespace tarsia::jit
