// What ties the modules of a session's cells together.
//
// A cell is a module of its own, and code of one cell uses functions and variables of others. Modules show no
// symbols to each other. Instead, each module has a slot, a pointer, for each function and variable of a
// session that its code names, and reads the slot at each use. The session fills the slots in
// (session/cell_module.h): with the newest definition. So a definition that replaces another reaches the code
// of earlier cells, too, and taking it back gives them the old one.
//
// Of the session are what the texts of the request define or declare at namespace scope with external or
// internal linkage, variables that every module would have for itself (of templates, `inline` ones, static
// ones in inline functions), and what begins with tarsia_cell_, which libtarsia defines.
// A function has a slot for its address as well, which is that of a jump to the newest definition: so a
// pointer that a program keeps leads to the definition that takes the old one's place. Kernels have none. The
// slot of a thread_local variable holds a function that gives the calling thread's. Calls of functions that
// are `static`, `inline` or templates are direct within their cell.
//
// What a cell does when it is loaded (initial values, statements) becomes one function, tarsia_cell_run,
// which the session calls.
#pragma once

#include <string>

namespace clang {
class ASTContext;
class CodeGenerator;
}  // namespace clang

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Symbols that a cell's module shows; session/cell_module.h has the layout of what they name.
inline constexpr char k_cell_table_symbol[] = "tarsia_cell_table";
inline constexpr char k_cell_run_symbol[] = "tarsia_cell_run";

/// Ties a cell's module. `generator` has made the module and not given it away. `info`: JSON for the session.
void link_cell(clang::CodeGenerator& generator, llvm::Module& module, clang::ASTContext& context,
               const std::string& info);

}  // namespace tarsia::jit
