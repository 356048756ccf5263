// Builds functions that write the members of a class.
#include "jit/worker/cell/cell_members.h"

#include <algorithm>
#include <string>
#include <vector>

#include "clang/AST/ASTConsumer.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/ExprCXX.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Sema/Lookup.h"
#include "clang/Sema/Sema.h"
#include "jit/worker/cell/cell_value.h"

namespace tarsia::jit {
namespace {

/// Whether all that a class holds may be shown: it is the user's, or one of a header's without secrets.
bool is_open(const clang::ASTContext& context, const clang::CXXRecordDecl& record) {
  if (record.isUnion() || record.isLambda() || record.getNumVBases() > 0) return false;
  if (!record.isAggregate() && context.getSourceManager().isInSystemHeader(record.getLocation()))
    return false;
  const auto is_public = [](clang::AccessSpecifier access) {
    return access == clang::AS_public || access == clang::AS_none;
  };
  return std::ranges::all_of(record.fields(),
                             [&](const clang::FieldDecl* field) { return is_public(field->getAccess()); }) &&
         std::ranges::all_of(record.bases(), [&](const clang::CXXBaseSpecifier& base) {
           return is_public(base.getAccessSpecifier());
         });
}

class Body {
 public:
  Body(clang::Sema& sema, clang::DeclContext& space, clang::FunctionDecl& function)
      : m_sema(sema), m_context(sema.getASTContext()), m_space(space), m_function(function) {}

  void make() {
    clang::Sema::SynthesizedFunctionScope scope(m_sema, &m_function);
    const clang::CXXRecordDecl* record = value()->getType()->getAsCXXRecordDecl();
    if (record && is_open(m_context, *record))
      put_members(*record);
    else
      call("put_place", value());
    m_function.setBody(
        clang::CompoundStmt::Create(m_context, m_statements, clang::FPOptionsOverride(), m_place, m_place));
    m_sema.Consumer.HandleTopLevelDecl(clang::DeclGroupRef(&m_function));
  }

 private:
  clang::Expr* value() {
    clang::ParmVarDecl* parameter = m_function.getParamDecl(0);
    return m_sema.BuildDeclRefExpr(parameter, parameter->getType().getNonReferenceType(), clang::VK_LValue,
                                   m_place);
  }

  void put_members(const clang::CXXRecordDecl& record) {
    std::string before = "{";
    for (const clang::CXXBaseSpecifier& base : record.bases()) {
      put_text(before);
      before = ", ";
      clang::CXXCastPath path{const_cast<clang::CXXBaseSpecifier*>(&base)};
      const clang::QualType type =
          m_context.getQualifiedType(base.getType(), value()->getType().getQualifiers());
      put(m_sema.ImpCastExprToType(value(), type, clang::CK_DerivedToBase, clang::VK_LValue, &path));
    }
    for (clang::FieldDecl* field : record.fields()) {
      if (field->isUnnamedBitField()) continue;
      if (field->isAnonymousStructOrUnion()) {
        put_nameless(record, *field, before);
        continue;
      }
      put_text(before + "." + field->getNameAsString() + " = ");
      before = ", ";
      put(m_sema.BuildFieldReferenceExpr(value(), /*IsArrow=*/false, m_place, clang::CXXScopeSpec(), field,
                                         clang::DeclAccessPair::make(field, clang::AS_public),
                                         clang::DeclarationNameInfo(field->getDeclName(), m_place)));
    }
    put_text(before == "{" ? "{}" : "}");
  }

  /// The members of a struct without a name. Which member of a union holds nobody knows.
  void put_nameless(const clang::CXXRecordDecl& record, const clang::FieldDecl& field, std::string& before) {
    bool has_union = false;
    for (clang::Decl* decl : record.decls()) {
      auto* inner = llvm::dyn_cast<clang::IndirectFieldDecl>(decl);
      if (!inner || inner->chain().front() != &field) continue;
      const auto is_in_union = [](const clang::NamedDecl* part) {
        const auto* one = llvm::cast<clang::FieldDecl>(part);
        return one->isAnonymousStructOrUnion() && one->getType()->isUnionType();
      };
      if (std::ranges::any_of(inner->chain(), is_in_union)) {
        has_union = true;
        continue;
      }
      put_text(before + "." + inner->getNameAsString() + " = ");
      before = ", ";
      put(m_sema.BuildAnonymousStructUnionMemberReference(
          clang::CXXScopeSpec(), m_place, inner, clang::DeclAccessPair::make(inner, clang::AS_public),
          value(), m_place));
    }
    if (!has_union) return;
    put_text(before + "union …");
    before = ", ";
  }

  void put(clang::ExprResult member) {
    if (member.isInvalid()) return;
    const clang::QualType type = member.get()->getType();
    // Of an array without bounds nobody knows the end; a volatile class has no functions that read it.
    if (type->isIncompleteType() || (!type->isScalarType() && type.isVolatileQualified()))
      return put_text("…");
    // The value of a bit-field, of what is volatile or atomic.
    if (type->isScalarType() || type->isAtomicType()) member = m_sema.DefaultLvalueConversion(member.get());
    if (!member.isInvalid()) call("put", member.get());
  }

  void put_text(const std::string& text) {
    call("put_text",
         clang::StringLiteral::Create(
             m_context, text, clang::StringLiteralKind::Ordinary, /*Pascal=*/false,
             m_context.getStringLiteralArrayType(m_context.CharTy, unsigned(text.size())), m_place));
  }

  /// Calls a function of tarsia::repl.
  void call(const char* name, clang::Expr* argument) {
    clang::LookupResult found(m_sema, &m_context.Idents.get(name), m_place, clang::Sema::LookupOrdinaryName);
    m_sema.LookupQualifiedName(found, &m_space);
    if (found.empty()) return;
    const clang::ExprResult function =
        m_sema.BuildDeclarationNameExpr(clang::CXXScopeSpec(), found, /*NeedsADL=*/false);
    if (function.isInvalid()) return;
    clang::ExprResult made =
        m_sema.ActOnCallExpr(m_sema.TUScope, function.get(), m_place, {&argument, 1}, m_place);
    if (!made.isInvalid()) made = m_sema.ActOnFinishFullExpr(made.get(), /*DiscardedValue=*/true);
    if (!made.isInvalid()) m_statements.push_back(made.get());
  }

  clang::Sema& m_sema;
  clang::ASTContext& m_context;
  clang::DeclContext& m_space;
  clang::FunctionDecl& m_function;
  const clang::SourceLocation m_place = m_function.getLocation();
  std::vector<clang::Stmt*> m_statements;
};

}  // namespace

bool put_members_of_values(clang::Sema& sema) {
  clang::DeclContext* const space = space_of_values(sema);
  if (!space) return false;
  clang::LookupResult found(sema, &sema.getASTContext().Idents.get("put_members"), clang::SourceLocation(),
                            clang::Sema::LookupOrdinaryName);
  sema.LookupQualifiedName(found, space);
  found.suppressDiagnostics();
  if (found.empty()) return false;
  auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(found.getRepresentativeDecl());
  if (!pattern) return false;
  std::vector<clang::FunctionDecl*> some;
  for (clang::FunctionDecl* function : pattern->specializations())
    if (!function->isDefined()) some.push_back(function);
  for (clang::FunctionDecl* function : some) Body(sema, *space, *function).make();
  return !some.empty();
}

}  // namespace tarsia::jit
