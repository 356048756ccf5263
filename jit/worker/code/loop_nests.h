// Functions of loops within loops, which need not be compiled once for each call.
#pragma once

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Keeps functions that hold a loop within a loop from being inlined where inlining would only make copies.
/// Such a function is called more than once, or stays for callers from outside anyway. No call gives it a
/// constant number, and no call is within a loop. Beside the loops, the call costs nothing. Each copy would
/// be vectorised and unrolled anew, which took most of the time of such a source. Templates and `inline`
/// functions are left to LLVM.
void keep_loop_nests_apart(llvm::Module& module);

}  // namespace tarsia::jit
