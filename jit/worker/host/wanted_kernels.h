// The kernels that a request wants alone (CompileOptions::kernels).
#pragma once

#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/split/split.h"

namespace clang {
class ASTContext;
class DiagnosticsEngine;
}  // namespace clang

namespace tarsia::jit {

/// One line of code for each kernel, which instantiates it. Those of kernels that are no templates are empty.
std::string text_of_wanted(const std::vector<std::string>& kernels);

/// Keeps only the wanted kernels in the slice, in the order in which they were asked for, and no templates.
/// The unit has parsed the text above. Reports those that are no kernels.
void choose_kernels(const std::vector<std::string>& wanted, clang::ASTContext& context,
                    clang::DiagnosticsEngine& diagnostics, DeviceSlice& slice);

/// Lets an error in the text above, which stands at k_wanted_path, name the kernel and no place.
void blame_wanted(Diagnostic& diagnostic, const std::vector<std::string>& wanted);

}  // namespace tarsia::jit
