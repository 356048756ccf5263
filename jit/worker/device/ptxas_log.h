// What ptxas says of the code that it makes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// A warning for each kernel or function that keeps registers in memory, from a log that was asked for with
/// "-v". They name `file`.
std::vector<Diagnostic> spills_of(std::string_view log, const std::string& file, const std::string& arch);

/// The log without what "-v" added to it.
std::string without_figures(std::string_view log);

}  // namespace tarsia::jit
