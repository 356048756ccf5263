// What is too large for a GPU, said of the source's kernels and variables.
#pragma once

#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {

/// Stands in each message about a limit.
inline constexpr char k_limit_words[] = "and the limit is ";

/// Gives messages about memory and parameters of which there are too many bytes the place of the kernel or
/// variable, and adds what to write in its place.
void explain_limits(const DeviceSlice& slice, std::vector<Diagnostic>& diagnostics);

/// Takes a place in the source, of the form "file:line".
void set_place(Diagnostic& diagnostic, const std::string& place);

}  // namespace tarsia::jit
