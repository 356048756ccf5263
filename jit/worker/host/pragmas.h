// Pragmas that Clang shall not see as it would: the debugging ones that end the compiler, nvcc's, and
// Tarsia's own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace clang {
class DiagnosticsEngine;
class PPCallbacks;
class Preprocessor;
class PreprocessorOptions;
class SourceLocation;
}  // namespace clang

namespace tarsia::jit {

/// Work-around: Clang overflows no stack when it is told to. Trigger: `#pragma clang __debug overflow_stack`,
/// by which compilers are tested, in a Clang that was built with optimisation. Symptom: the function that
/// calls itself without end is a loop there; the compile ends at its time limit, not with a crash. Removal:
/// Clang's function for it (DebugOverflowStack) is no tail call.
void take_over_debug_pragmas(clang::PreprocessorOptions& options);

/// Does the work of the pragmas that were taken over.
std::unique_ptr<clang::PPCallbacks> make_debug_pragmas();

/// Keeps Clang quiet about the pragmas that speak to nvcc (it warns of others that it does not know), and
/// lets macros hold pragmas as nvcc does: `#define UNROLL #pragma unroll`, as CUTLASS has it, says the same
/// as
/// `#define UNROLL _Pragma("unroll")`.
void take_pragmas_of_nvcc(clang::Preprocessor& preprocessor);

/// Warns of pragmas of OpenMP's at these places, of device code. `cell_path`: only of those that no earlier
/// cell has.
void warn_of_ignored_openmp(clang::DiagnosticsEngine& diagnostics,
                            const std::vector<clang::SourceLocation>& places, const std::string& cell_path);

/// Lets `meet` know where the lexer meets `#pragma tarsia NAME`, which stands in what Tarsia adds to a text.
/// The lexer then stands behind the line.
using MeetPragma = std::function<void(clang::Preprocessor&, clang::SourceLocation)>;
void add_own_pragma(clang::Preprocessor& preprocessor, const char* name, MeetPragma meet);

}  // namespace tarsia::jit
