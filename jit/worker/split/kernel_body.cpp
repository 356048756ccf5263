// Empties bodies that were stepped over.
#include "jit/worker/split/kernel_body.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/Decl.h"
#include "clang/AST/Stmt.h"

namespace tarsia::jit {

void empty_kernel(clang::ASTContext& context, clang::FunctionDecl* function) {
  if (!function || !function->hasSkippedBody() || !function->hasAttr<clang::CUDAGlobalAttr>()) return;
  function->setHasSkippedBody(false);
  function->setBody(clang::CompoundStmt::CreateEmpty(context, 0, false));
}

}  // namespace tarsia::jit
