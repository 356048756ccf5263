// What the host's compile makes of a kernel's body.
#pragma once

namespace clang {
class ASTContext;
class FunctionDecl;
}  // namespace clang

namespace tarsia::jit {

/// Gives a kernel whose body was stepped over an empty one. Clang needs no more to make the stub that
/// launches the kernel. Null, other functions and other kernels stay as they are.
void empty_kernel(clang::ASTContext& context, clang::FunctionDecl* function);

}  // namespace tarsia::jit
