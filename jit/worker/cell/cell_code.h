// What a cell's code does differently from that of a library: faults and their places stay, and its thread
// lives on.
#pragma once

#include <string>

namespace llvm {
class Constant;
class Function;
class Module;
}  // namespace llvm

namespace tarsia::jit {

/// Begins the names of libtarsia's functions that cells use.
inline constexpr char k_builtin_prefix[] = "tarsia_cell_";

/// The session's thread is the caller's: a cell must not end it. libtarsia stands for these functions.
void take_ends_of_threads(llvm::Module& module);

/// Lets the session know where an exception came from: the line of a `throw` in any cell, or of what the cell
/// itself does.
void note_places(llvm::Module& module);

/// What runs when the module is loaded, in the order of the text, gets a name and is not run by the loader.
void take_run(llvm::Module& module);

/// Keeps reads and writes that nobody needs, so that a null pointer is found out: those of the cell's own
/// statements but for loops, and in functions what is read and then forgotten.
void keep_faults(llvm::Function& function);

/// A text in the module, with a NUL behind it.
llvm::Constant* cell_text(llvm::Module& module, const std::string& bytes);

}  // namespace tarsia::jit
