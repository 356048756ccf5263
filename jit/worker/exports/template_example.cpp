// Writes an explicit instantiation of a function template.
//
// The text of the function's type is taken, and its words that are the template's parameters are replaced. An
// exact way would be to instantiate the declaration, which may fail and would change the translation unit. So
// the body tells whether a number may stand for each type; where it asks for more, a wrapper is advised.
#include "jit/worker/exports/template_example.h"

#include <map>

#include "clang/AST/DeclTemplate.h"
#include "clang/AST/RecursiveASTVisitor.h"
#include "jit/worker/exports/exports.h"
#include "llvm/ADT/StringExtras.h"

namespace tarsia::jit {
namespace {

// The text with words replaced.
std::string replaced(llvm::StringRef text, const std::map<std::string, std::string>& words) {
  std::string result;
  while (!text.empty()) {
    const llvm::StringRef word = text.take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (word.empty()) {
      result += text.front();
      text = text.drop_front();
      continue;
    }
    const auto found = words.find(word.str());
    result += found == words.end() ? word.str() : found->second;
    text = text.drop_front(word.size());
  }
  return result;
}

// What a template asks of its type parameters.
class Needs : public clang::RecursiveASTVisitor<Needs> {
 public:
  explicit Needs(const clang::FunctionDecl& pattern) {
    TraverseDecl(const_cast<clang::FunctionDecl*>(&pattern));
    m_more |= pattern.getDescribedFunctionTemplate()->hasAssociatedConstraints();
  }
  /// Members, calls, constraints: no number will do, as far as can be told without an instantiation.
  bool more_than_a_number() const { return m_more; }
  /// Operators that floating-point numbers do not have.
  bool an_integer() const { return m_integer; }

  // Clang's names.
  bool VisitCXXDependentScopeMemberExpr(clang::CXXDependentScopeMemberExpr*) { return found(); }
  bool VisitDependentScopeDeclRefExpr(clang::DependentScopeDeclRefExpr*) { return found(); }
  bool VisitUnresolvedMemberExpr(clang::UnresolvedMemberExpr*) { return found(); }
  bool VisitDependentNameTypeLoc(clang::DependentNameTypeLoc) { return found(); }
  bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc type) {
    return type.getType()->isDependentType() ? found() : true;
  }
  bool VisitDecltypeTypeLoc(clang::DecltypeTypeLoc) { return found(); }
  bool VisitCXXForRangeStmt(clang::CXXForRangeStmt* loop) {
    return loop->getRangeInit()->isTypeDependent() ? found() : true;
  }
  bool VisitStaticAssertDecl(clang::StaticAssertDecl*) { return found(); }
  bool VisitCallExpr(clang::CallExpr* call) {
    if (llvm::isa<clang::CXXOperatorCallExpr>(call)) return true;
    const auto* callee = llvm::dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
    return call->getCallee()->isTypeDependent() && callee && llvm::isa<clang::VarDecl>(callee->getDecl())
               ? found()
               : true;
  }
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* element) {
    return is_plain(element->getLHS()) && is_plain(element->getRHS()) ? found() : true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* expression) {
    if (expression->getOpcode() == clang::UO_Deref && is_plain(expression->getSubExpr())) return found();
    m_integer |= expression->getOpcode() == clang::UO_Not && expression->isTypeDependent();
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* expression) {
    const clang::BinaryOperatorKind kind = expression->getOpcode();
    m_integer |= expression->isTypeDependent() &&
                 (kind == clang::BO_Rem || kind == clang::BO_RemAssign || expression->isShiftOp() ||
                  expression->isShiftAssignOp() || expression->isBitwiseOp() || kind == clang::BO_AndAssign ||
                  kind == clang::BO_OrAssign || kind == clang::BO_XorAssign);
    return true;
  }
  bool VisitLambdaExpr(clang::LambdaExpr*) { return true; }

 private:
  static bool is_plain(const clang::Expr* value) {
    const clang::QualType type = value->IgnoreParenImpCasts()->getType().getNonReferenceType();
    return !type->isPointerType() && !type->isArrayType();
  }
  bool found() {
    m_more = true;
    return true;
  }

  bool m_more = false, m_integer = false;
};

}  // namespace

std::string instance_to_write(const clang::FunctionDecl& pattern, const clang::PrintingPolicy& policy) {
  constexpr char k_wrapper[] = "a function that calls it with types of your choice is exported";
  const Needs needs(pattern);
  if (needs.more_than_a_number()) return k_wrapper;
  std::map<std::string, std::string> given;
  std::string arguments;
  for (const clang::NamedDecl* parameter : *pattern.getDescribedFunctionTemplate()->getTemplateParameters()) {
    const auto* value = llvm::dyn_cast<clang::NonTypeTemplateParmDecl>(parameter);
    if (parameter->isParameterPack() || (!value && !llvm::isa<clang::TemplateTypeParmDecl>(parameter)) ||
        (value && !value->getType()->isIntegralOrEnumerationType()))
      return k_wrapper;
    const char* const argument = !value                              ? needs.an_integer() ? "int" : "float"
                                 : value->getType()->isBooleanType() ? "true"
                                                                     : "4";
    arguments += (arguments.empty() ? "" : ", ") + std::string(argument);
    // The type of an `auto` parameter has a name that nobody wrote.
    given[parameter->isImplicit() ? "auto" : parameter->getName().str()] = argument;
  }
  std::string parameters;
  for (const clang::ParmVarDecl* parameter : pattern.parameters())
    parameters +=
        (parameters.empty() ? "" : ", ") + replaced(parameter->getType().getAsString(policy), given);
  given.erase("auto");
  const std::string result = replaced(pattern.getReturnType().getAsString(policy), given);
  const std::string name = exported_name(pattern) + "<" + arguments + ">";
  return "write `template " + result + " " + name + "(" + parameters +
         ");` below it, with types of your choice, and " + name + " is exported";
}

}  // namespace tarsia::jit
