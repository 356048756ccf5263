// What g++ and nvcc take and Clang does not. A text that Clang has refused for such a reason alone is parsed
// once more, with an allowance (DiagnosticCollector::needs()).
//
// Work-around: Clang takes references to unknown objects in constant expressions from C++23 on.
// Trigger: `constexpr int n = std::size(x);` of a parameter `const int (&x)[3]`, or a static member by way of
// a reference, under an older standard. C++ has allowed it since P2280, for all standards; g++ and nvcc take
// it. Symptom: "must be initialized by a constant expression". With the allowance, expressions have the rules
// of C++23, and macros those of their own standard. Removal: Clang takes it under all standards.
//
// Work-around: Clang takes `static` behind a declaration without it as an extension of Microsoft's alone.
// Trigger: a function template that a header declares, and whose definition says `static` as well. g++ and
// nvcc keep to the declaration. Symptom: "static declaration of 'f' follows non-static declaration". Clang
// asks for that extension where it compares the two. Removal: Clang has a flag for this alone.
#pragma once

#include "clang/Sema/Sema.h"
#include "jit/worker/source/diagnostics.h"

namespace tarsia::jit {

/// From here on, Clang takes it. To be called before anything is parsed.
inline void allow(const Allowances& allowances, clang::Sema& sema) {
  auto& options = const_cast<clang::LangOptions&>(sema.getLangOpts());
  options.CPlusPlus23 |= allowances.unknown_references;
  options.MicrosoftExt |= allowances.static_templates;
}

/// To be called when all is parsed: the parser takes back the pragmas that it has registered, which depend on
/// the same option.
inline void end_allowances(const Allowances& allowances, clang::LangOptions& options) {
  if (allowances.static_templates) options.MicrosoftExt = false;
}

}  // namespace tarsia::jit
