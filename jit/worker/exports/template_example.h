// What to write so that a function template is exported.
#pragma once

#include <string>

namespace clang {
class FunctionDecl;
struct PrintingPolicy;
}  // namespace clang

namespace tarsia::jit {

/// Advice for the author of a function template: an explicit instantiation of it with types and numbers of
/// ours. If its parameters are none that we can choose, a wrapper. `pattern` is the template's function.
std::string instance_to_write(const clang::FunctionDecl& pattern, const clang::PrintingPolicy& policy);

}  // namespace tarsia::jit
