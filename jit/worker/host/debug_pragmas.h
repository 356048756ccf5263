// The debugging pragmas of Clang's that end the compiler.
#pragma once

#include <memory>

namespace clang {
class PPCallbacks;
class PreprocessorOptions;
}  // namespace clang

namespace tarsia::jit {

/// Work-around: Clang overflows no stack when it is told to. Trigger: `#pragma clang __debug overflow_stack`,
/// by which compilers are tested, in a Clang that was built with optimisation. Symptom: the function that
/// calls itself without end is a loop there; the compile ends at its time limit, not with a crash. Removal:
/// Clang's function for it (DebugOverflowStack) is no tail call.
void take_over_debug_pragmas(clang::PreprocessorOptions& options);

/// Does the work of the pragmas that were taken over.
std::unique_ptr<clang::PPCallbacks> make_debug_pragmas();

}  // namespace tarsia::jit
