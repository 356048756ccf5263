// Members of classes by misspelt names.
//
// Work-around: Clang offers nothing for the misspelt name of a member.
// Trigger: v.puhs_back(1). Symptom: the error does not say what is meant, as it does of functions and
// variables. Removal: it says so of members, too.
#include "jit/worker/source/names/near_members.h"

#include <algorithm>

#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Type.h"
#include "clang/Basic/Diagnostic.h"
#include "clang/Basic/DiagnosticSema.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {
namespace {

/// The best of the members that were looked at.
struct NearMember {
  llvm::StringRef wanted;
  unsigned distance;  ///< names this far away, or farther, are no candidates
  llvm::StringRef name;

  void look_in(const clang::RecordDecl* record) {
    if (!record || !(record = record->getDefinition())) return;
    for (const clang::Decl* decl : record->decls()) {
      const auto* member = llvm::dyn_cast<clang::NamedDecl>(decl);
      if (member && !member->isImplicit() && member->getIdentifier() && is_public(*member))
        look_at(member->getName());
    }
    if (const auto* derived = llvm::dyn_cast<clang::CXXRecordDecl>(record))
      for (const clang::CXXBaseSpecifier& base : derived->bases())
        look_in(base.getType()->getAsCXXRecordDecl());
  }

 private:
  static bool is_public(const clang::NamedDecl& member) {
    return member.getAccess() == clang::AS_public || member.getAccess() == clang::AS_none;
  }
  void look_at(llvm::StringRef one) {
    // Names of the library's own are none that somebody means.
    if (one.empty() || (one.starts_with("_") && !wanted.starts_with("_"))) return;
    const unsigned away = wanted.edit_distance(one, /*AllowReplacements=*/true, distance);
    if (away > distance || (away == distance && (name.empty() || name <= one))) return;
    distance = away;
    name = one;
  }
};

const clang::RecordDecl* record_of(const clang::Diagnostic& info, unsigned argument) {
  using Engine = clang::DiagnosticsEngine;
  if (info.getArgKind(argument) == Engine::ak_declcontext)
    return llvm::dyn_cast_or_null<clang::RecordDecl>(
        reinterpret_cast<const clang::DeclContext*>(info.getRawArg(argument)));
  if (info.getArgKind(argument) == Engine::ak_qualtype)
    return clang::QualType::getFromOpaquePtr(reinterpret_cast<void*>(info.getRawArg(argument)))
        ->getAsRecordDecl();
  return nullptr;
}

}  // namespace

std::string near_member_remedy(const clang::Diagnostic& info) {
  if (info.getID() != clang::diag::err_no_member || info.getNumArgs() < 2 ||
      info.getArgKind(0) != clang::DiagnosticsEngine::ak_declarationname)
    return {};
  const auto name = clang::DeclarationName::getFromOpaqueInteger(info.getRawArg(0));
  const clang::IdentifierInfo* identifier = name.getAsIdentifierInfo();
  if (!identifier) return {};
  const llvm::StringRef wanted = identifier->getName();
  if (wanted.size() < 3) return {};
  // One letter of three may be wrong, as Clang has it for other names.
  NearMember near{.wanted = wanted, .distance = static_cast<unsigned>(wanted.size() + 2) / 3 + 1, .name = {}};
  near.look_in(record_of(info, 1));
  return near.name.empty() ? std::string() : ("; did you mean '" + near.name + "'?").str();
}

}  // namespace tarsia::jit
