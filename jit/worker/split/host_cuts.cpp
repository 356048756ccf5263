// What a slice leaves out of declarations that stay: what only the host can compile.
#include "jit/worker/split/host_cuts.h"

#include "clang/AST/Attr.h"
#include "clang/AST/DeclFriend.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/DynamicRecursiveASTVisitor.h"
#include "jit/worker/split/split.h"
#include "jit/worker/split/token_ranges.h"

namespace tarsia::jit {
namespace {

class Throws final : public clang::DynamicRecursiveASTVisitor {
 public:
  explicit Throws(std::vector<const clang::CXXThrowExpr*>& found) : m_found(found) {}
  bool TraverseCXXThrowExpr(clang::CXXThrowExpr* expression) override {
    m_found.push_back(expression);
    return true;  // what it throws goes with it
  }

 private:
  std::vector<const clang::CXXThrowExpr*>& m_found;
};

}  // namespace

bool HostCuts::is_here(clang::SourceLocation location) const {
  return m_sources.getFileID(m_sources.getExpansionLoc(location)) == m_file;
}

size_t HostCuts::begin_of(clang::SourceLocation location) const {
  return first_at(m_tokens, m_sources.getFileOffset(m_sources.getExpansionLoc(location)));
}

size_t HostCuts::end_of(clang::SourceLocation location) const {
  return past(m_tokens, m_sources.getFileOffset(m_sources.getExpansionRange(location).getEnd()));
}

void HostCuts::cut_function(const clang::FunctionDecl& function, SplitItem& item) {
  if (function.isMain() || m_host_types.is_host(function) || llvm::isa<clang::CXXMethodDecl>(function) ||
      !function.getIdentifier())
    return;
  if (const clang::FunctionTemplateDecl* pattern = function.getDescribedFunctionTemplate())
    for (const clang::NamedDecl* parameter : *pattern->getTemplateParameters())
      if (const auto* type = llvm::dyn_cast<clang::TemplateTypeParmDecl>(parameter);
          type && type->hasDefaultArgument() &&
          m_host_types.is_host(type->getDefaultArgument().getArgument().getAsType()))
        return;
  if (function.doesThisDeclarationHaveABody()) {
    const clang::Stmt* body = function.getBody();
    if (!body || !is_here(body->getBeginLoc())) return;
    size_t begin = begin_of(body->getBeginLoc());
    if (begin <= item.begin || begin >= item.end || m_tokens[begin].kind != clang::tok::l_brace ||
        one_macro(m_tokens, begin, item.end))
      return;
    item.cuts.push_back({begin, item.end, SplitCut::words, k_trap_body});
  }
  cut_host_word(function, item.cuts);
  note_glances(function, /*has_body=*/true, item);
  item.callable = true;
}

// A data member that only the host can read becomes as many bytes: the others stay where they are.
void HostCuts::cut_field(const clang::FieldDecl& field, size_t begin, size_t end,
                         std::vector<SplitCut>& cuts) {
  const clang::QualType type = field.getType();
  if (type->isDependentType() || type->isIncompleteType() || !field.getIdentifier() ||
      !m_host_types.is_host(type))
    return;
  const auto bytes = std::to_string(m_context.getTypeSizeInChars(type).getQuantity());
  const auto align = std::to_string(m_context.getTypeAlignInChars(type).getQuantity());
  std::string text = "alignas(" + align + ") char " + field.getName().str() + "[" + bytes + "]";
  if (!cuts.empty() && cuts.back().begin == begin && cuts.back().instead == SplitCut::words) {
    cuts.back().end = end;
    cuts.back().text += "; " + text;
  } else if (m_tokens[begin].begin != m_tokens[end - 1].begin) {
    cuts.push_back({begin, end, SplitCut::words, std::move(text)});
  }
}

void HostCuts::cut_throws(const clang::FunctionDecl& function, std::vector<SplitCut>& cuts) {
  std::vector<const clang::CXXThrowExpr*> throws;
  Throws(throws).TraverseDecl(const_cast<clang::FunctionDecl*>(&function));
  for (const clang::CXXThrowExpr* one : throws) {
    if (!is_here(one->getBeginLoc()) || one->getBeginLoc().isMacroID()) continue;
    const size_t begin = begin_of(one->getBeginLoc());
    const size_t end = closed(m_tokens, begin, end_of(one->getEndLoc()));
    if (begin < end && m_tokens[begin].kind == clang::tok::kw_throw)
      cuts.push_back({begin, end, SplitCut::words, "tarsia_thrown()"});
  }
}

// The word __host__ of a member that stays: NVRTC knows no functions of the host. A macro that expands to
// more than attributes stays as it is.
void HostCuts::cut_host_word(const clang::FunctionDecl& function, std::vector<SplitCut>& cuts) {
  const auto* attribute = function.getAttr<clang::CUDAHostAttr>();
  if (!attribute || attribute->isImplicit() || attribute->isInherited()) return;
  const size_t begin = begin_of(attribute->getLocation());
  size_t end = begin;
  for (; end < m_tokens.size() && m_tokens[end].begin == m_tokens[begin].begin; ++end) {
    const clang::IdentifierInfo* name = m_tokens[end].identifier;
    const bool harmless = !name || name->isStr("__attribute__") || name->isStr("host") ||
                          m_tokens[end].kind == clang::tok::kw_inline || name->isStr("__forceinline__") ||
                          name->isStr("always_inline") || name->isStr("__always_inline__");
    if (!harmless) return;
  }
  if (end > begin) cuts.push_back({begin, end});
}

// Notes the class that a type names, if the device's compiler needs no more than its declaration there.
void HostCuts::note_glance(clang::TypeLoc type, bool by_value, SplitItem& item) const {
  bool indirect = by_value;
  for (clang::TypeLoc next = type; next; next = type.getNextTypeLoc()) {
    type = next.getUnqualifiedLoc();
    if (!type.getAs<clang::ReferenceTypeLoc>() && !type.getAs<clang::PointerTypeLoc>()) break;
    indirect = true;
  }
  if (!indirect) return;
  clang::SourceLocation name;
  if (const auto tag = type.getAs<clang::TagTypeLoc>()) name = tag.getNameLoc();
  if (const auto alias = type.getAs<clang::UsingTypeLoc>()) name = alias.getNameLoc();
  if (const auto special = type.getAs<clang::TemplateSpecializationTypeLoc>()) {
    name = special.getTemplateNameLoc();
    for (unsigned i = 0; i < special.getNumArgs(); ++i)
      if (special.getArgLoc(i).getArgument().getKind() == clang::TemplateArgument::Type)
        note_glance(special.getArgLoc(i).getTypeSourceInfo()->getTypeLoc(), /*by_value=*/true, item);
  }
  if (name.isInvalid() || name.isMacroID() || !is_here(name)) return;
  if (const size_t at = begin_of(name); at < m_tokens.size() && m_tokens[at].identifier)
    item.glances.push_back(at);
}

void HostCuts::note_glances(const clang::FunctionDecl& function, bool has_body, SplitItem& item) const {
  const clang::FunctionTypeLoc type = function.getFunctionTypeLoc();
  if (!type) return;
  note_glance(type.getReturnLoc(), !has_body, item);
  for (const clang::ParmVarDecl* parameter : type.getParams())
    if (parameter && parameter->getTypeSourceInfo())
      note_glance(parameter->getTypeSourceInfo()->getTypeLoc(), !has_body, item);
}

std::optional<SplitCut> HostCuts::declaration_of(const clang::CXXRecordDecl& record) const {
  const clang::SourceLocation key = record.getInnerLocStart(), brace = record.getBraceRange().getEnd();
  if (!record.getIdentifier() || llvm::isa<clang::ClassTemplateSpecializationDecl>(record) ||
      key.isInvalid() || key.isMacroID() || brace.isInvalid() || brace.isMacroID() || !is_here(key) ||
      !is_here(brace))
    return std::nullopt;
  const size_t begin = begin_of(key), end = begin_of(brace) + 1;
  if (begin >= end || end > m_tokens.size() || m_tokens[end - 1].kind != clang::tok::r_brace)
    return std::nullopt;
  return SplitCut{begin, end, SplitCut::words, (record.getKindName() + " " + record.getName()).str()};
}

void HostCuts::cut_members(const clang::CXXRecordDecl& record, SplitItem& item) {
  std::vector<SplitCut>& cuts = item.cuts;
  for (const clang::Decl* member : record.decls()) {
    if (member->isImplicit() || !is_here(member->getBeginLoc())) continue;
    const clang::Decl* inner = &templated(*member);
    if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(inner)) {
      if (nested->isThisDeclarationADefinition()) cut_members(*nested, item);
      continue;
    }
    bool whole = false;
    if (const auto* friendship = llvm::dyn_cast<clang::FriendDecl>(inner)) {
      if (const clang::TypeSourceInfo* type = friendship->getFriendType())
        note_glance(type->getTypeLoc(), /*by_value=*/true, item);
      if (!friendship->getFriendDecl()) continue;
      inner = &templated(*friendship->getFriendDecl());
      whole = true;
    }
    size_t begin = begin_of(member->getBeginLoc());
    size_t end = end_of(member->getEndLoc());
    if (begin >= end || one_macro(m_tokens, begin, end)) continue;
    if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(inner)) {
      if (!has_device_attribute(*variable) && m_host_types.is_host(variable->getType()))
        cuts.push_back({begin, end});
    } else if (const auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(inner)) {
      if (m_host_types.is_host(alias->getUnderlyingType())) cuts.push_back({begin, end});
    }
    if (const auto* field = llvm::dyn_cast<clang::FieldDecl>(inner)) {
      cut_field(*field, begin, closed(m_tokens, begin, end), cuts);
      continue;
    }
    const auto* function = llvm::dyn_cast<clang::FunctionDecl>(inner);
    if (function && !has_device_attribute(*function)) cut_method(*function, begin, end, whole, item);
  }
}

// A member function that only the host calls.
void HostCuts::cut_method(const clang::FunctionDecl& function, size_t begin, size_t end, bool whole,
                          SplitItem& item) {
  std::vector<SplitCut>& cuts = item.cuts;
  cut_host_word(function, cuts);
  if (function.isDefaulted() || function.isDeleted()) return;
  if (function.isConstexpr() && !m_host_types.names_host(function)) return cut_throws(function, cuts);
  size_t body = begin;
  int round = 0;
  for (; body < end; ++body) {
    auto kind = m_tokens[body].kind;
    if (kind == clang::tok::l_paren) ++round;
    if (kind == clang::tok::r_paren) --round;
    if (round == 0 &&
        (kind == clang::tok::l_brace || kind == clang::tok::colon || kind == clang::tok::kw_try))
      break;
  }
  whole |= m_host_types.is_host(function);
  for (size_t i = begin; i < body; ++i)
    whole |= m_tokens[i].identifier && m_tokens[i].identifier->isStr("std");
  if (whole)
    cuts.push_back(
        {begin, end, function.doesThisDeclarationHaveABody() ? SplitCut::semicolon : SplitCut::nothing});
  else if (body < end && llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(function))
    cuts.push_back({body, end, SplitCut::semicolon, {}, key_of(function.getCanonicalDecl())});
  else if (body < end)
    cuts.push_back({body, end, SplitCut::words, k_trap_body, key_of(function.getCanonicalDecl())});
  else  // cuts nothing; messages ask for the function
    cuts.push_back({end, end, SplitCut::nothing, {}, key_of(function.getCanonicalDecl())});
  if (!whole) note_glances(function, /*has_body=*/cuts.back().instead == SplitCut::words, item);
}

}  // namespace tarsia::jit
