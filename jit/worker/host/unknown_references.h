// References to unknown objects in constant expressions.
//
// Work-around: Clang takes references to unknown objects in constant expressions from C++23 on.
// Trigger: `constexpr int n = std::size(x);` of a parameter `const int (&x)[3]`, or a static member by way of
// a reference, under an older standard. C++ has allowed it since P2280, for all standards; g++ and nvcc take
// it. Symptom: "must be initialized by a constant expression". Such a text is parsed once more
// (DiagnosticCollector::met_unknown_reference), with the rules of C++23 for expressions, and with the macros
// of its own standard. Removal: Clang takes it under all standards.
#pragma once

#include "clang/Sema/Sema.h"

namespace tarsia::jit {

/// From here on, constant expressions may name them. To be called before anything is parsed.
inline void take_unknown_references(clang::Sema& sema) {
  const_cast<clang::LangOptions&>(sema.getLangOpts()).CPlusPlus23 = true;
}

}  // namespace tarsia::jit
