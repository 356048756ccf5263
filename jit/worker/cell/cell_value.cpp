// Builds the call of tarsia::repl::show.
#include "jit/worker/cell/cell_value.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Decl.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Sema/Lookup.h"
#include "clang/Sema/Sema.h"
#include "jit/worker/cell/cell_members.h"

namespace tarsia::jit {
namespace {

/// The namespace of this name within the scope; null if there is none.
clang::NamespaceDecl* namespace_in(clang::Sema& sema, clang::DeclContext* scope, const char* name) {
  clang::LookupResult found(sema, &sema.getASTContext().Idents.get(name), clang::SourceLocation(),
                            clang::Sema::LookupNamespaceName);
  sema.LookupQualifiedName(found, scope);
  found.suppressDiagnostics();
  return found.isSingleResult() ? found.getAsSingle<clang::NamespaceDecl>() : nullptr;
}

}  // namespace

clang::DeclContext* space_of_values(clang::Sema& sema) {
  clang::DeclContext* scope = sema.getASTContext().getTranslationUnitDecl();
  for (const char* name : {"tarsia", "repl"})
    if (!(scope = namespace_in(sema, scope, name))) return nullptr;
  return scope;
}

void show_value(clang::Sema& sema, clang::TopLevelStmtDecl& statement) {
  auto* expression = llvm::dyn_cast_or_null<clang::Expr>(statement.getStmt());
  if (!expression || expression->getType()->isVoidType() || expression->isTypeDependent()) return;
  clang::DeclContext* const scope = space_of_values(sema);
  if (!scope) return;
  const clang::SourceLocation place = expression->getBeginLoc();
  clang::LookupResult found(sema, &sema.getASTContext().Idents.get("show"), place,
                            clang::Sema::LookupOrdinaryName);
  sema.LookupQualifiedName(found, scope);
  if (found.empty()) return;
  if (auto* full = llvm::dyn_cast<clang::ExprWithCleanups>(expression)) {
    expression = full->getSubExpr();
    sema.Cleanup.setExprNeedsCleanups(true);
  }
  // No reference binds to a bit-field or to an element of a vector: show takes a copy of it.
  if (expression->refersToBitField() || expression->refersToVectorElement()) {
    const clang::ExprResult value = sema.DefaultLvalueConversion(expression);
    if (value.isInvalid()) return;
    expression = value.get();
  }
  const clang::ExprResult function =
      sema.BuildDeclarationNameExpr(clang::CXXScopeSpec(), found, /*NeedsADL=*/false);
  if (function.isInvalid()) return;
  clang::Expr* arguments[] = {expression};
  const clang::ExprResult call =
      sema.ActOnCallExpr(sema.TUScope, function.get(), place, arguments, expression->getEndLoc());
  if (call.isInvalid()) return;
  const clang::ExprResult whole = sema.ActOnFinishFullExpr(call.get(), /*DiscardedValue=*/true);
  if (whole.isInvalid()) return;
  statement.setStmt(whole.get());
  // The members of a class are known now, and Clang asks at the end of the text for what has no body.
  do sema.PerformPendingInstantiations();
  while (put_members_of_values(sema));
}

}  // namespace tarsia::jit
