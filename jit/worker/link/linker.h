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

/// Which parts of Tarsia's own are linked in beside the inputs.
struct LinkParts {
  bool cuda = false;             ///< the registration of device code, and the CUDA runtime
  bool has_main = false;         ///< the runner of a program's main
  bool has_effects = false;      ///< the source does something by being loaded
  std::string home;              ///< the folder where Tarsia's own libraries lie
  bool whole_libraries = false;  ///< link against the system's libraries, not excerpts: to compare
};

struct LinkResult {
  bool ok = false;
  bool can_link_again = true;  ///< false: LLD gave up half-way, and this process must link no more
  bool lacks_driver = false;   ///< functions of the CUDA driver were undefined
  std::string module;
  std::vector<Diagnostic> diagnostics;
  std::vector<Dependency> dependencies;  ///< the user's libraries, and the files that they consist of
};

/// Reads what every link needs of this machine's libraries, once. Any thread may call it. The first link
/// waits for it.
void prepare_links();

/// Links against this machine's C and C++ run time, the CUDA runtime if asked for, and the user's libraries
/// (user_libraries.h). Undefined symbols are errors, save those that may_stay_undefined()
/// (link_messages.h), and with undefined="load". One link at a time in a process. A crash of LLD is a
/// crash of the process.
LinkResult link(const CompileRequest& request, std::vector<LinkInput> inputs, LinkParts parts);

}  // namespace tarsia::jit
