// Functions of loops within loops, which need not be compiled once for each call.
#pragma once

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Keeps functions that hold a loop within a loop from being inlined where that would only make copies: they
/// are called more than once, or stay for callers from outside anyway, no call gives them a constant
/// number, and none is within a loop. The call costs nothing beside the loops, while each copy is vectorised
/// and unrolled anew, which was most of the time that such a source took. Templates and `inline` functions
/// are left to LLVM.
void keep_loop_nests_apart(llvm::Module& module);

}  // namespace tarsia::jit
