// Arguments of calls in g++'s order.
#pragma once

namespace clang {
class Decl;
}  // namespace clang

namespace tarsia::jit {

/// Makes the generated code evaluate the arguments of function calls from the last to the first. The caller
/// passes a definition before its code is generated; other declarations stay as they are. Constructors and
/// member functions keep Clang's order.
void order_arguments(clang::Decl& decl);

}  // namespace tarsia::jit
