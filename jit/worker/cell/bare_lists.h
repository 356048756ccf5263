// What is said of `{1, 2}` where a cell has a statement.
#pragma once

#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// C++ takes a brace that begins a statement for that of a block, and what is in it for statements. Says of
/// the first error in such a block, if it has no semicolon, that a list has no type of its own. Its other
/// errors go.
void explain_bare_lists(const SourceFile& cell, std::vector<Diagnostic>& diagnostics);

}  // namespace tarsia::jit
