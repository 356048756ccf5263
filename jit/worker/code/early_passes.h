// What is done to a module before LLVM optimises it.
#pragma once

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Drops what nothing reaches.
void drop_unreached(llvm::Module& module);

/// Ends functions that must not return, and yet come to their end, with a trap.
void trap_forbidden_returns(llvm::Module& module);

/// Takes long chains of tests from what LLVM would take time for that grows with their square.
void shorten_chains(llvm::Module& module);

}  // namespace tarsia::jit
