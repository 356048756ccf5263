// What options say in other words: gcc's spellings, and the environment.
#pragma once

#include "jit/compile.h"

namespace tarsia::pipeline {

/// Lets options.cflags set the options that they are other spellings of. Those that remain there are spelled
/// in one way each, and only the compiler knows them. Throws ArgumentError for one that is unknown, with the
/// nearest that is known, and for one that contradicts an option.
void take_cflags(jit::CompileOptions& options);

/// Lets TARSIA_OPT=fast set options.dev, unless a level of optimisation is asked for, and TARSIA_LINEINFO=1
/// the option of its name. Without TARSIA_LINEINFO a profiler sets that. Throws ArgumentError for other
/// values.
void take_environment(jit::CompileOptions& options);

}  // namespace tarsia::pipeline
