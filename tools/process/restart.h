// Starts the command again with a sanitizer's run-time library.
#pragma once

#include "tools/options.h"

namespace tarsia::tools {

/// Runs this program again, with the same arguments, if the options ask for a sanitizer that the process
/// lacks. It must have been there from the start. Returns if it is there or nothing is asked for. Throws
/// std::runtime_error if the sanitizer is not on this machine or cannot be had.
void start_again_for_sanitizer(const CompileOptions& options, char** arguments);

}  // namespace tarsia::tools
