// The value of the expression with which a cell ends.
//
// If the cell's last statement is an expression without a semicolon, the parser's tree of it becomes the
// argument of tarsia::repl::show (<tarsia/repl.h>), which prints it.
#pragma once

namespace clang {
class DeclContext;
class Sema;
class TopLevelStmtDecl;
}  // namespace clang

namespace tarsia::jit {

/// The namespace tarsia::repl; null if its header is not there.
clang::DeclContext* space_of_values(clang::Sema& sema);

/// Makes the statement show its value. Nothing happens if it has none (void) or if the header is not there.
void show_value(clang::Sema& sema, clang::TopLevelStmtDecl& statement);

}  // namespace tarsia::jit
