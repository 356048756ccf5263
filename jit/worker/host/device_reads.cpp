// Walks the bodies of the host's functions.
#include "jit/worker/host/device_reads.h"

#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/cell/cell_items.h"
#include "jit/worker/host/device_entities.h"
#include "jit/worker/split/token_recorder.h"

namespace tarsia::jit {
namespace {

bool is_of_device(const clang::Decl& decl) {
  return decl.hasAttr<clang::CUDADeviceAttr>() || decl.hasAttr<clang::CUDAConstantAttr>() ||
         decl.hasAttr<clang::CUDAGlobalAttr>();
}

class Reads : public clang::RecursiveASTVisitor<Reads> {
 public:
  explicit Reads(clang::ASTContext& context) : m_context(context) {}

  bool shouldVisitTemplateInstantiations() const { return true; }
  bool shouldVisitImplicitCode() const { return true; }

  bool TraverseDecl(clang::Decl* decl) {
    if (!decl) return true;
    if (llvm::isa<clang::FunctionDecl, clang::VarDecl>(decl) && is_of_device(*decl)) return true;
    return RecursiveASTVisitor::TraverseDecl(decl);
  }
  bool TraverseLambdaExpr(clang::LambdaExpr* lambda) {
    return is_of_device(*lambda->getCallOperator()) || RecursiveASTVisitor::TraverseLambdaExpr(lambda);
  }
  // Their operands are not evaluated.
  bool TraverseUnaryExprOrTypeTraitExpr(clang::UnaryExprOrTypeTraitExpr*) { return true; }
  bool TraverseCXXNoexceptExpr(clang::CXXNoexceptExpr*) { return true; }
  bool TraverseDecltypeTypeLoc(clang::DecltypeTypeLoc, bool = true) { return true; }

  bool VisitImplicitCastExpr(clang::ImplicitCastExpr* cast) {
    if (cast->getCastKind() == clang::CK_LValueToRValue) report(cast->getSubExpr(), k_reads);
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* operation) {
    if (operation->isAssignmentOp()) report(operation->getLHS(), k_writes);
    return true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* operation) {
    if (operation->isIncrementDecrementOp()) report(operation->getSubExpr(), k_writes);
    return true;
  }
  bool VisitCXXConstructExpr(clang::CXXConstructExpr* made) {
    if (made->getNumArgs() == 1 && made->getConstructor()->isCopyOrMoveConstructor())
      report(made->getArg(0), k_reads);
    return true;
  }
  bool VisitCallExpr(clang::CallExpr* call) {
    // A cell's value is handed to this function by reference.
    const clang::FunctionDecl* callee = call->getDirectCallee();
    if (callee && call->getNumArgs() == 1 && callee->getDeclName().isIdentifier() &&
        callee->getName() == "show" && callee->getQualifiedNameAsString() == "tarsia::repl::show")
      report(call->getArg(0), k_reads);
    return true;
  }

 private:
  enum Use : int { k_reads, k_writes };

  void report(const clang::Expr* place, Use use) {
    const clang::VarDecl* const variable = variable_of(place);
    if (!variable || !is_of_device(*variable) || is_managed(*variable) ||
        variable->isUsableInConstantExpressions(m_context) || !m_told.insert(place->getBeginLoc()).second)
      return;
    clang::DiagnosticsEngine& diagnostics = m_context.getDiagnostics();
    const unsigned id = diagnostics.getCustomDiagID(
        clang::DiagnosticsEngine::Warning,
        "host code %select{reads|writes to}0 %1, a variable of the device, and meets a stand-in that "
        "%select{does not hold its value|the device does not see}0: use "
        "%select{cudaMemcpyFromSymbol|cudaMemcpyToSymbol}0, or make the variable __managed__");
    diagnostics.Report(place->getExprLoc(), id) << int(use) << variable;
  }

  // The variable that an lvalue is, or is a part of.
  static const clang::VarDecl* variable_of(const clang::Expr* place) {
    while (true) {
      place = place->IgnoreParens();
      if (const auto* cast = llvm::dyn_cast<clang::ImplicitCastExpr>(place)) {
        if (cast->getCastKind() == clang::CK_LValueToRValue) return nullptr;  // a pointer's target
        place = cast->getSubExpr();
      } else if (const auto* member = llvm::dyn_cast<clang::MemberExpr>(place);
                 member && !member->isArrow()) {
        place = member->getBase();
      } else if (const auto* element = llvm::dyn_cast<clang::ArraySubscriptExpr>(place)) {
        place = element->getBase();
      } else {
        break;
      }
    }
    const auto* reference = llvm::dyn_cast<clang::DeclRefExpr>(place);
    return reference ? llvm::dyn_cast<clang::VarDecl>(reference->getDecl()) : nullptr;
  }

  clang::ASTContext& m_context;
  std::set<clang::SourceLocation> m_told;
};

}  // namespace

void warn_of_device_reads(clang::ASTContext& context, const std::string& cell_path) {
  const clang::SourceManager& sources = context.getSourceManager();
  Reads reads(context);
  for (clang::Decl* decl : context.getTranslationUnitDecl()->noload_decls())
    if (is_user_file(sources, decl->getLocation()) &&
        (cell_path.empty() || !is_in_earlier_cell(sources, *decl, cell_path)))
      reads.TraverseDecl(decl);
}

}  // namespace tarsia::jit
