// Has the arguments of calls evaluated from the last to the first.
//
// Work-around: Clang evaluates arguments from the first to the last.
// Trigger: arguments whose evaluation has effects. The language leaves their order open; g++, and nvcc with
// it, goes from the last to the first.
// Symptom: a program that fills its data with make_float2(rand(), rand()) prints other numbers.
// Removal: Clang has an option for the order.
//
// Clang's code generator goes backwards in one case: for assignment operators that are called as functions,
// since the language wants their right side first. So calls in which the order may matter are presented to
// it as such operators.
#include "jit/worker/host/argument_order.h"

#include <algorithm>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/Builtins.h"

namespace tarsia::jit {
namespace {

bool order_may_matter(const clang::CallExpr& call, const clang::ASTContext& context) {
  if (call.getStmtClass() != clang::Stmt::CallExprClass || call.getNumArgs() < 2) return false;
  if (const clang::Decl* callee = call.getCalleeDecl()) {
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(callee);
    if (llvm::isa<clang::CXXMethodDecl>(callee)) return false;
    if (function && function->getBuiltinID() != 0 &&
        !context.BuiltinInfo.isPredefinedLibFunction(function->getBuiltinID()))
      return false;
  }
  return std::any_of(call.arg_begin(), call.arg_end(),
                     [&](const clang::Expr* argument) { return argument->HasSideEffects(context); });
}

void visit(clang::Stmt*& place, clang::ASTContext& context) {
  if (!place) return;
  for (clang::Stmt*& child : place->children()) visit(child, context);
  auto* call = llvm::dyn_cast<clang::CallExpr>(place);
  if (!call || !order_may_matter(*call, context)) return;
  place = clang::CXXOperatorCallExpr::Create(
      context, clang::OO_Equal, call->getCallee(),
      llvm::ArrayRef<clang::Expr*>(call->getArgs(), call->getNumArgs()), call->getType(),
      call->getValueKind(), call->getBeginLoc(), call->getFPFeatures(), call->getADLCallKind());
}

}  // namespace

void order_arguments(clang::Decl& decl) {
  clang::ASTContext& context = decl.getASTContext();
  if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(&decl)) {
    if (!function->doesThisDeclarationHaveABody() || function->isDependentContext()) return;
    clang::Stmt* body = function->getBody();
    visit(body, context);
    if (auto* constructor = llvm::dyn_cast<clang::CXXConstructorDecl>(function))
      for (clang::CXXCtorInitializer* initializer : constructor->inits())
        for (clang::Stmt*& child : initializer->getInit()->children()) visit(child, context);
  } else if (auto* variable = llvm::dyn_cast<clang::VarDecl>(&decl)) {
    if (variable->hasInit() && !variable->getType()->isDependentType() && !variable->isConstexpr())
      if (clang::Stmt** value = variable->getInitAddress()) visit(*value, context);
  }
}

}  // namespace tarsia::jit
