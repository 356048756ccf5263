// The libraries that a request names, as files that the linker may read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

struct UserLibraries {
  std::vector<std::string> arguments;    ///< of LLD
  std::vector<Dependency> dependencies;  ///< every file that LLD will read for them
  std::optional<Diagnostic> refused;     ///< why there are none
};

/// Finds the request's `libraries`: `X` is libX.so or libX.so.N in its library_dirs, the folders of the CUDA
/// parts or the machine's; what holds a '/' is a path. Shared libraries, archives and objects of ELF are
/// taken, and linker scripts of GROUP, INPUT and AS_NEEDED, which are looked into here: what LLD is given it
/// reads as no text, so that none of it can come to stand in a message.
UserLibraries find_user_libraries(const CompileRequest& request);

}  // namespace tarsia::jit
