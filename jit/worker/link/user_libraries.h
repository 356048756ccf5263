// The libraries that a request names, as files that the linker may read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

struct UserLibraries {
  std::vector<std::string> arguments;    ///< of LLD
  std::vector<Dependency> dependencies;  ///< every file that LLD will read for them, and what was not there
  std::optional<Diagnostic> refused;     ///< why there are none
};

/// Finds the request's `libraries`. `X` is libX.so or libX.so.N in its library_dirs, in the folders of the
/// CUDA parts, or in the machine's. A name with a '/' is a path. `cuda`, the
/// CUDA driver, is not looked for (driver_stubs.h). It takes ELF shared libraries, archives
/// and objects, and linker scripts of GROUP, INPUT and AS_NEEDED. Scripts are resolved here, so LLD reads
/// no file as text and can quote none in a message.
///
/// The module names the folders of its shared libraries for the dynamic linker (rpath), save those of
/// library_folders(): Tarsia's loader is told of them, and so the module is the same wherever they lie
/// (base/machine/run_path.h).
UserLibraries find_user_libraries(const CompileRequest& request);

}  // namespace tarsia::jit
