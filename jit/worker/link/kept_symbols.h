// The symbols that a module shows to others.
//
// A module shows no symbol by itself: two modules may define the same names. It keeps what the source marks
// with __attribute__((visibility("default"))), and what the option `exports` names. Code is compiled with
// hidden visibility, but libstdc++ gives its templates, and libraries their classes, the default one. So the
// default visibility alone does not tell what the author marked. A symbol that is not weak does: templates
// and inline functions have weak ones.
// Functions that initialise an extension module of Python (PyInit_…) are kept in any case: g++ shows them
// without a mark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jit/worker/link/linker.h"

namespace tarsia::jit {

struct KeptSymbols {
  std::vector<std::string> names;     ///< as the linker knows them, sorted
  std::optional<Diagnostic> refused;  ///< about a name of `exports` that the inputs do not define
};

/// Finds them. In the inputs, those that `exports` names get the default visibility. `exports` holds names of
/// C, or qualified names of C++, which mean all overloads.
KeptSymbols keep_symbols(std::vector<LinkInput>& inputs, const std::vector<std::string>& exports);

}  // namespace tarsia::jit
