// Writes an explicit instantiation of a function template.
//
// The text of the function's type is taken, and its words that are the template's parameters are replaced. An
// exact way would be to instantiate the declaration, which may fail and would change the translation unit. So
// the body tells whether a number may stand for each type; where it asks for more, a wrapper is advised.
#include "jit/worker/exports/template_example.h"

#include <map>
#include <utility>
#include <vector>

#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "jit/worker/exports/exports.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

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
class Needs : public clang::DynamicRecursiveASTVisitor {
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
  bool VisitCXXDependentScopeMemberExpr(clang::CXXDependentScopeMemberExpr*) override { return found(); }
  bool VisitDependentScopeDeclRefExpr(clang::DependentScopeDeclRefExpr*) override { return found(); }
  bool VisitUnresolvedMemberExpr(clang::UnresolvedMemberExpr*) override { return found(); }
  bool VisitDependentNameTypeLoc(clang::DependentNameTypeLoc) override { return found(); }
  bool VisitTemplateSpecializationTypeLoc(clang::TemplateSpecializationTypeLoc type) override {
    return type.getType()->isDependentType() ? found() : true;
  }
  bool VisitDecltypeTypeLoc(clang::DecltypeTypeLoc) override { return found(); }
  bool VisitCXXForRangeStmt(clang::CXXForRangeStmt* loop) override {
    return loop->getRangeInit()->isTypeDependent() ? found() : true;
  }
  bool VisitStaticAssertDecl(clang::StaticAssertDecl*) override { return found(); }
  bool VisitCallExpr(clang::CallExpr* call) override {
    if (llvm::isa<clang::CXXOperatorCallExpr>(call)) return true;
    const auto* callee = llvm::dyn_cast<clang::DeclRefExpr>(call->getCallee()->IgnoreParenImpCasts());
    return call->getCallee()->isTypeDependent() && callee && llvm::isa<clang::VarDecl>(callee->getDecl())
               ? found()
               : true;
  }
  bool VisitArraySubscriptExpr(clang::ArraySubscriptExpr* element) override {
    return is_plain(element->getLHS()) && is_plain(element->getRHS()) ? found() : true;
  }
  bool VisitUnaryOperator(clang::UnaryOperator* expression) override {
    if (expression->getOpcode() == clang::UO_Deref && is_plain(expression->getSubExpr())) return found();
    m_integer |= expression->getOpcode() == clang::UO_Not && expression->isTypeDependent();
    return true;
  }
  bool VisitBinaryOperator(clang::BinaryOperator* expression) override {
    const clang::BinaryOperatorKind kind = expression->getOpcode();
    m_integer |= expression->isTypeDependent() &&
                 (kind == clang::BO_Rem || kind == clang::BO_RemAssign || expression->isShiftOp() ||
                  expression->isShiftAssignOp() || expression->isBitwiseOp() || kind == clang::BO_AndAssign ||
                  kind == clang::BO_OrAssign || kind == clang::BO_XorAssign);
    return true;
  }

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

// A value for a template's parameter of this type.
clang::TemplateArgument constant_of(clang::QualType type, const clang::ASTContext& context) {
  const auto* named = type->getAs<clang::EnumType>();
  const unsigned plain = named ? 0 : type->isBooleanType() ? 1 : type->isCharType() ? 'a' : 4;
  llvm::APSInt value(llvm::APInt(context.getIntWidth(type), plain),
                     type->isUnsignedIntegerOrEnumerationType());
  const clang::EnumDecl* definition = named ? named->getDecl()->getDefinition() : nullptr;
  if (definition && !definition->enumerators().empty()) {
    llvm::APSInt first = (*definition->enumerator_begin())->getInitVal().extOrTrunc(value.getBitWidth());
    first.setIsUnsigned(value.isUnsigned());
    value = std::move(first);
  }
  return {context, value, type.getCanonicalType().getUnqualifiedType()};
}

std::string text_of(const clang::TemplateArgument& argument, const clang::PrintingPolicy& policy) {
  std::string text;
  llvm::raw_string_ostream out(text);
  argument.print(policy, out, /*IncludeType=*/true);
  return text;
}

// The type where each type parameter is a number. Null if it asks for more: an array, a class, `auto`.
clang::QualType with_number(clang::QualType type, clang::QualType number, const clang::ASTContext& context) {
  type = type.getCanonicalType();
  if (!type->isDependentType() && !type->isUndeducedType()) return type;
  clang::QualType made;
  if (type->isTemplateTypeParmType()) {
    made = number;
  } else if (type->isPointerType() || type->isReferenceType()) {
    const clang::QualType target = with_number(type->getPointeeType(), number, context);
    if (!target.isNull())
      made = type->isPointerType()           ? context.getPointerType(target)
             : type->isLValueReferenceType() ? context.getLValueReferenceType(target)
                                             : context.getRValueReferenceType(target);
  }
  return made.isNull() ? made : context.getQualifiedType(made, type.getLocalQualifiers());
}

// What a function returns, without what functions within it do.
class Returned : public clang::DynamicRecursiveASTVisitor {
 public:
  std::vector<const clang::Expr*> values;

  // Clang's names.
  bool VisitReturnStmt(clang::ReturnStmt* statement) override {
    if (const clang::Expr* value = statement->getRetValue()) values.push_back(value->IgnoreParens());
    return true;
  }
  bool TraverseLambdaExpr(clang::LambdaExpr*) override { return true; }
  bool TraverseCXXRecordDecl(clang::CXXRecordDecl*) override { return true; }
};

// Whether the instance's result can be exported. Of `auto`, what is returned tells; a value that only an
// instantiation gives a type is taken for a number.
bool has_fitting_result(const clang::FunctionDecl& pattern, clang::QualType number, CanExport can_export) {
  const clang::ASTContext& context = pattern.getASTContext();
  const auto fits = [&](clang::QualType type) {
    const clang::QualType chosen = with_number(type, number, context);
    return !chosen.isNull() && can_export(chosen, /*is_result=*/true);
  };
  const auto* deduced = pattern.getReturnType()->getAs<clang::AutoType>();
  if (!deduced) return fits(pattern.getReturnType());
  if (deduced->isDecltypeAuto()) return false;
  Returned returned;
  returned.TraverseStmt(pattern.getBody());
  return llvm::all_of(returned.values, [&](const clang::Expr* value) {
    const auto* operation = llvm::dyn_cast<clang::UnaryOperator>(value);
    if (operation && operation->getOpcode() == clang::UO_AddrOf) return false;
    const clang::QualType type = value->getType();
    if (type->isSpecificBuiltinType(clang::BuiltinType::Dependent)) return true;
    return fits(type->isArrayType() ? context.getDecayedType(type) : type.getUnqualifiedType());
  });
}

}  // namespace

std::string instance_to_write(const clang::FunctionDecl& pattern, const clang::PrintingPolicy& policy,
                              CanExport can_export) {
  constexpr char k_wrapper[] = "a function that calls it with types of your choice is exported";
  const clang::ASTContext& context = pattern.getASTContext();
  const Needs needs(pattern);
  if (needs.more_than_a_number() || pattern.isConsteval() || pattern.isVariadic()) return k_wrapper;
  const clang::QualType number = needs.an_integer() ? context.IntTy : context.FloatTy;
  std::map<std::string, std::string> given;
  llvm::SmallVector<clang::TemplateArgument> arguments;
  for (const clang::NamedDecl* parameter : *pattern.getDescribedFunctionTemplate()->getTemplateParameters()) {
    const auto* value = llvm::dyn_cast<clang::NonTypeTemplateParmDecl>(parameter);
    if (parameter->isParameterPack() || (!value && !llvm::isa<clang::TemplateTypeParmDecl>(parameter)) ||
        (value && (value->getType()->isDependentType() || !value->getType()->isIntegralOrEnumerationType())))
      return k_wrapper;
    arguments.push_back(value ? constant_of(value->getType(), context) : clang::TemplateArgument(number));
    // The type of an `auto` parameter has a name that nobody wrote.
    given[parameter->isImplicit() ? "auto" : parameter->getName().str()] = text_of(arguments.back(), policy);
  }
  std::string parameters;
  for (const clang::ParmVarDecl* parameter : pattern.parameters()) {
    const clang::QualType chosen = with_number(parameter->getType(), number, context);
    if (chosen.isNull() || !can_export(chosen, /*is_result=*/false)) return k_wrapper;
    parameters +=
        (parameters.empty() ? "" : ", ") + replaced(parameter->getType().getAsString(policy), given);
  }
  if (!has_fitting_result(pattern, number, can_export)) return k_wrapper;
  given.erase("auto");
  const std::string result = replaced(pattern.getReturnType().getAsString(policy), given);
  // As the instance's own name is made, so that both agree: f<4UL>.
  std::string name = exported_name(pattern);
  llvm::raw_string_ostream out(name);
  clang::printTemplateArgumentList(out, arguments, policy);
  return "write `template " + result + " " + name + "(" + parameters +
         ");` below it, with types of your choice, and " + name + " is exported";
}

}  // namespace tarsia::jit
