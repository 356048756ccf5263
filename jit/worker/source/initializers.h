// Static initialisers that throw.
//
// The loader runs them, and an exception that reaches it ends the process: TORCH_LIBRARY throws if the
// namespace is taken. So each initialiser of a source that does something by being loaded is called within a
// handler, which keeps the exception's text for libtarsia (support/initializer_support.cpp).
#pragma once

namespace llvm {
class Module;
}

namespace tarsia::jit {

/// Puts a handler around each initialiser of a unit of C++.
void guard_initializers(llvm::Module& module);

}  // namespace tarsia::jit
