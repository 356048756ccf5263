// Folders that options name and that are not there.
#pragma once

#include <vector>

#include "base/diagnostic.h"
#include "jit/compile_options.h"

namespace tarsia::pipeline {

/// A warning for each folder of `include_dirs` and `library_dirs` that is none. It is of this moment: nothing
/// keeps it. "-w" and "-Wno-missing-include-dirs" turn it off.
std::vector<Diagnostic> warn_of_missing_folders(const jit::CompileOptions& options);

}  // namespace tarsia::pipeline
