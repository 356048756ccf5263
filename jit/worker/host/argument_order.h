// Arguments of calls in g++'s order.
#pragma once

namespace clang {
class Decl;
}  // namespace clang

namespace tarsia::jit {

/// Sees to it that code is generated for the arguments of calls of functions from the last to the first. To
/// be called for a definition before its code is generated; other declarations are left alone. Constructors
/// and member functions keep Clang's order.
void order_arguments(clang::Decl& decl);

}  // namespace tarsia::jit
