// What is done to a module before LLVM optimises it.
#pragma once

#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Drops what nothing reaches.
void drop_unreached(llvm::Module& module);

/// Ends functions that must not return, and yet come to their end, with a trap.
void trap_forbidden_returns(llvm::Module& module);

/// Lets calls of functions of other libraries, and of the memory's own, return to the function that makes
/// them, also where they are the last thing that it does: else a crash in them names no line of the call.
void keep_callers(llvm::Module& module);

/// Takes long chains of tests from what LLVM would take time for that grows with their square. Returns the
/// functions that are not optimised for that, by their mangled names.
std::vector<std::string> shorten_chains(llvm::Module& module);

}  // namespace tarsia::jit
