// What to write so that a function template is exported.
#pragma once

#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"

namespace clang {
class FunctionDecl;
struct PrintingPolicy;
class QualType;
}  // namespace clang

namespace tarsia::jit {

/// Whether exported functions may have this type: as a parameter, or as their result.
using CanExport = llvm::function_ref<bool(clang::QualType type, bool is_result)>;

/// Advice for the author of a function template: an explicit instantiation of it with types and numbers of
/// ours. If its parameters are none that we can choose, or the instance would not be exported, a wrapper.
/// `pattern` is the template's function.
std::string instance_to_write(const clang::FunctionDecl& pattern, const clang::PrintingPolicy& policy,
                              CanExport can_export);

}  // namespace tarsia::jit
