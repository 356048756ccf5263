// What is said of a cell's errors that the compiler has its own view of.
#pragma once

#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// Changes what is said of the errors in the request's cell; nothing happens if it has none.
///
/// C++ takes a brace that begins a statement for that of a block, and what is in it for statements. The first
/// error in such a block, if it has no semicolon, says that a list has no type of its own. The block's other
/// errors go.
///
/// An error behind the cell's text, where that of the session goes on, is one at the cell's end.
void explain_errors_of_cell(const CompileRequest& request, std::vector<Diagnostic>& diagnostics);

}  // namespace tarsia::jit
