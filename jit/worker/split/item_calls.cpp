// What a declaration's functions call that the host and the device may run.
#include "jit/worker/split/item_calls.h"

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "clang/AST/ExprCXX.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {
namespace {

// The functions that a function of both sides may call. What depends on a template's parameters counts by all
// that its name may mean.
class Calls final : public clang::DynamicRecursiveASTVisitor {
 public:
  /// `both`: the function is one of both sides, and not one that is only constexpr.
  Calls(SplitItem& item, bool both) : m_item(item), m_both(both) {
    // The loop over a range calls functions that nobody wrote, and so do operators that are rewritten.
    ShouldVisitImplicitCode = true;
  }
  bool VisitDeclRefExpr(clang::DeclRefExpr* expression) override {
    add(expression->getDecl());
    return true;
  }
  bool VisitMemberExpr(clang::MemberExpr* expression) override {
    add(expression->getMemberDecl());
    return true;
  }
  bool VisitCXXDependentScopeMemberExpr(clang::CXXDependentScopeMemberExpr* expression) override {
    m_item.called_names.push_back(expression->getMember());
    if (expression->isArrow()) add(clang::OO_Arrow);
    return true;
  }
  bool VisitExpr(clang::Expr* expression) override {
    if (!expression->isTypeDependent()) return true;
    m_item.calls_conversions = true;
    if (llvm::isa<clang::CallExpr>(expression)) add(clang::OO_Call);
    if (llvm::isa<clang::ArraySubscriptExpr>(expression)) add(clang::OO_Subscript);
    if (const auto* binary = llvm::dyn_cast<clang::BinaryOperator>(expression))
      add(clang::BinaryOperator::getOverloadedOperator(binary->getOpcode()));
    if (const auto* unary = llvm::dyn_cast<clang::UnaryOperator>(expression))
      add(clang::UnaryOperator::getOverloadedOperator(unary->getOpcode()));
    return true;
  }
  bool VisitOverloadExpr(clang::OverloadExpr* expression) override {
    for (const clang::NamedDecl* one : expression->decls()) add(one);
    return true;
  }

 private:
  void add(const clang::NamedDecl* decl) {
    const clang::FunctionDecl* function = decl->getUnderlyingDecl()->getAsFunction();
    if (!function) return;
    if (const clang::FunctionDecl* pattern = function->getTemplateInstantiationPattern()) function = pattern;
    const DeclKey key = key_of(function->getCanonicalDecl());
    if (m_both) m_item.calls.push_back(key);
    if (llvm::isa<clang::CXXMethodDecl>(function)) m_item.called_methods.push_back(key);
  }
  void add(clang::OverloadedOperatorKind kind) {
    if (kind != clang::OO_None) m_item.called_operators.insert(kind);
  }
  SplitItem& m_item;
  const bool m_both;
};

}  // namespace

void add_calls(const clang::FunctionDecl& function, SplitItem& item) {
  const bool both = has_device_attribute(function);
  if (!is_device_only(function) && (both || function.isConstexpr()))
    Calls(item, both).TraverseDecl(const_cast<clang::FunctionDecl*>(&function));
}

void add_calls(const clang::CXXRecordDecl& record, SplitItem& item) {
  for (const clang::Decl* member : record.decls()) {
    const clang::Decl& inner = templated(*member);
    if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(&inner);
        nested && nested != &record && nested->isThisDeclarationADefinition())
      add_calls(*nested, item);
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&inner);
    if (function && !function->isImplicit()) add_calls(*function, item);
  }
}

}  // namespace tarsia::jit
