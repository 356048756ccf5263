// From Clang's declarations to the items of a cell.
#include "jit/worker/cell/cell_items.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/GlobalDecl.h"
#include "clang/AST/Mangle.h"
#include "clang/AST/TypeLoc.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/source/raw_tokens.h"
#include "jit/worker/source/source_fs.h"

namespace tarsia::jit {
namespace {

/// The byte of the file that an expansion begins at.
std::size_t offset_of(const clang::SourceManager& sources, clang::SourceLocation place) {
  return sources.getFileOffset(sources.getExpansionLoc(place));
}

std::size_t last_offset_of(const clang::SourceManager& sources, clang::SourceLocation place) {
  return sources.getFileOffset(sources.getExpansionRange(place).getEnd());
}

bool is_of_device(const clang::Decl& decl) {
  return decl.hasAttr<clang::CUDADeviceAttr>() || decl.hasAttr<clang::CUDAConstantAttr>() ||
         decl.hasAttr<clang::CUDASharedAttr>();
}

bool can_be_named(clang::QualType type);

bool can_be_named(const clang::TemplateArgument& argument) {
  if (argument.getKind() == clang::TemplateArgument::Type) return can_be_named(argument.getAsType());
  return argument.getKind() != clang::TemplateArgument::Pack ||
         llvm::all_of(argument.pack_elements(),
                      [](const clang::TemplateArgument& one) { return can_be_named(one); });
}

/// Whether the type can be written in another place.
bool can_be_named(clang::QualType type) {
  type = type.getCanonicalType();
  if (type->isPointerType() || type->isReferenceType()) return can_be_named(type->getPointeeType());
  if (const auto* member = type->getAs<clang::MemberPointerType>())
    return can_be_named(member->getPointeeType());
  if (const clang::ArrayType* array = type->getAsArrayTypeUnsafe())
    return can_be_named(array->getElementType());
  if (const auto* function = type->getAs<clang::FunctionProtoType>())
    return can_be_named(function->getReturnType()) &&
           llvm::all_of(function->param_types(), [](clang::QualType one) { return can_be_named(one); });
  const clang::TagDecl* decl = type->getAsTagDecl();
  if (!decl) return true;
  const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(decl);
  if (decl->getParentFunctionOrMethod() || decl->isInAnonymousNamespace() || (record && record->isLambda()) ||
      (!decl->getIdentifier() && !decl->getTypedefNameForAnonDecl()))
    return false;
  const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(decl);
  return !special || llvm::all_of(special->getTemplateArgs().asArray(),
                                  [](const clang::TemplateArgument& one) { return can_be_named(one); });
}

clang::PrintingPolicy type_policy(const clang::ASTContext& context) {
  clang::PrintingPolicy policy(context.getLangOpts());
  policy.FullyQualifiedName = true;
  policy.SuppressTagKeyword = true;
  policy.SuppressUnwrittenScope = true;
  policy.Bool = true;
  return policy;
}

/// "extern T name;", or none if the variable cannot be declared like that.
std::optional<std::string> extern_of(const clang::VarDecl& variable) {
  const clang::ASTContext& context = variable.getASTContext();
  const clang::QualType type = variable.getType();
  if (!variable.getIdentifier() || variable.isStaticDataMember() || variable.isInline() ||
      variable.isConstexpr() || variable.isTemplated() || is_of_device(variable) ||
      llvm::isa<clang::DecompositionDecl, clang::VarTemplateSpecializationDecl>(variable) ||
      variable.getFormalLinkage() != clang::Linkage::External || variable.isExternC() ||
      variable.hasAttrs() || type.isConstQualified() || !can_be_named(type))
    return std::nullopt;
  std::string text = variable.getName().str();
  type.getCanonicalType().getAsStringInternal(text, type_policy(context));
  if (text.find("(lambda") != text.npos || text.find("(unnamed") != text.npos ||
      text.find("(anonymous") != text.npos)
    return std::nullopt;
  const char* storage = variable.getTSCSpec() == clang::TSCS_thread_local   ? "thread_local "
                        : variable.getTLSKind() != clang::VarDecl::TLS_None ? "__thread "
                                                                            : "";
  return std::string("extern ") + storage + text + ";";
}

/// Whether later cells need no more of a function than its declaration.
bool has_separate_body(const clang::FunctionDecl& function) {
  return function.isThisDeclarationADefinition() && !function.isInlined() && !function.isConstexpr() &&
         !function.isTemplated() && !function.isTemplateInstantiation() &&
         !function.getTemplateSpecializationInfo() && !is_of_device(function) &&
         !function.getReturnType()->getContainedDeducedType() && !llvm::isa<clang::CXXMethodDecl>(function) &&
         !function.isDefaulted() && !function.isDeleted();
}

void add_names(const clang::Decl& decl, std::vector<std::string>& names) {
  if (const auto* named = llvm::dyn_cast<clang::NamedDecl>(&decl); named && named->getDeclName())
    names.push_back(named->getQualifiedNameAsString());
  if (const auto* bindings = llvm::dyn_cast<clang::DecompositionDecl>(&decl))
    for (const clang::BindingDecl* one : bindings->bindings()) names.push_back(one->getNameAsString());
}

/// Whether a declaration that Clang ends before its attributes, as it does with `typedef int a
/// __attribute__((aligned(16)));`, goes on to a semicolon.
bool has_semicolon(const clang::Decl& decl) {
  if (decl.getEndLoc().isMacroID()) return false;
  if (const clang::FunctionDecl* function = decl.getAsFunction())
    return !function->doesThisDeclarationHaveABody() && !function->isTemplateInstantiation();
  return llvm::isa<clang::TypedefNameDecl, clang::TypeAliasTemplateDecl, clang::TagDecl,
                   clang::ClassTemplateDecl>(decl);
}

/// The names that an enumeration leaves in the scope around it.
void add_enumerators(const clang::Decl& decl, CellItem& item) {
  const auto* all = llvm::dyn_cast<clang::EnumDecl>(&decl);
  if (!all || all->isScoped()) return;
  for (const clang::EnumConstantDecl* one : all->enumerators()) {
    add_names(*one, item.names);
    item.values.push_back(one->getNameAsString());
  }
}

/// Where a variable's declarator begins: what is its own of `int *a = 0, b[2];`.
std::size_t begin_of_declarator(const clang::VarDecl& variable, const clang::SourceManager& sources) {
  std::size_t begin = offset_of(sources, variable.getLocation());
  for (clang::TypeLoc type = variable.getTypeSourceInfo()->getTypeLoc(); type; type = type.getNextTypeLoc()) {
    clang::SourceLocation place;
    if (const auto pointer = type.getAs<clang::PointerTypeLoc>()) place = pointer.getStarLoc();
    if (const auto bracket = type.getAs<clang::ParenTypeLoc>()) place = bracket.getLParenLoc();
    if (const auto left = type.getAs<clang::LValueReferenceTypeLoc>()) place = left.getAmpLoc();
    if (const auto right = type.getAs<clang::RValueReferenceTypeLoc>()) place = right.getAmpAmpLoc();
    if (const auto member = type.getAs<clang::MemberPointerTypeLoc>()) {
      place = member.getStarLoc();
      if (const clang::NestedNameSpecifierLoc scope = member.getQualifierLoc()) place = scope.getBeginLoc();
    }
    if (place.isValid()) begin = std::min(begin, offset_of(sources, place));
  }
  return begin;
}

void add_symbol(const clang::Decl& decl, std::vector<std::string>& symbols) {
  const auto* named = llvm::dyn_cast<clang::NamedDecl>(&decl);
  if (!named || !named->getDeclName() || decl.isTemplated() ||
      !llvm::isa<clang::FunctionDecl, clang::VarDecl>(decl) || llvm::isa<clang::DecompositionDecl>(decl))
    return;
  clang::ASTContext& context = decl.getASTContext();
  const std::unique_ptr<clang::MangleContext> mangler(
      clang::ItaniumMangleContext::create(context, context.getDiagnostics()));
  if (!mangler->shouldMangleDeclName(named)) return symbols.push_back(named->getNameAsString());
  std::string text;
  llvm::raw_string_ostream out(text);
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(named))
    mangler->mangleName(clang::GlobalDecl(function, clang::KernelReferenceKind::Kernel), out);
  else
    mangler->mangleName(llvm::cast<clang::VarDecl>(named), out);
  symbols.push_back(text);
}

const char* kind_of(const clang::Decl& decl) {
  const clang::Decl* inner = &decl;
  if (const auto* pattern = llvm::dyn_cast<clang::TemplateDecl>(inner);
      pattern && pattern->getTemplatedDecl())
    inner = pattern->getTemplatedDecl();
  if (const auto* statement = llvm::dyn_cast<clang::TopLevelStmtDecl>(inner))
    return llvm::isa_and_nonnull<clang::Expr>(statement->getStmt()) ? "expression" : "statement";
  if (llvm::isa<clang::FunctionDecl>(inner)) return "function";
  if (llvm::isa<clang::VarDecl>(inner)) return "variable";
  if (llvm::isa<clang::TypeDecl>(inner)) return "type";
  return "declaration";
}

bool is_of_file(const clang::SourceManager& sources, const clang::Decl& decl, const std::string& path) {
  const clang::SourceLocation place = sources.getExpansionLoc(decl.getLocation());
  return place.isValid() && sources.getFilename(place) == path;
}

bool is_implicit_instantiation(const clang::Decl& decl) {
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&decl))
    return function->getTemplateSpecializationKind() == clang::TSK_ImplicitInstantiation;
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&decl);
  return variable && variable->getTemplateSpecializationKind() == clang::TSK_ImplicitInstantiation;
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\t')) text.pop_back();
  return text;
}

}  // namespace

CellItems::CellItems(std::string path, std::string text) : m_path(std::move(path)), m_text(std::move(text)) {
  std::size_t directive_end = 0;  // tokens before it belong to a directive
  bool after_directive = false;
  for_each_raw_token(m_text, [&](const clang::Token& token, std::size_t offset) {
    if (offset < directive_end) return;
    if (token.is(clang::tok::hash) && token.isAtStartOfLine()) {
      directive_end = offset;
      after_directive = true;
      do {
        directive_end = std::min(m_text.find('\n', directive_end), m_text.size() - 1) + 1;
      } while (directive_end < m_text.size() && directive_end >= 2 && m_text[directive_end - 2] == '\\');
      return;
    }
    const char kind = token.is(clang::tok::l_brace)   ? '{'
                      : token.is(clang::tok::r_brace) ? '}'
                      : token.is(clang::tok::semi)    ? ';'
                      : token.is(clang::tok::comma)   ? ','
                                                      : 0;
    m_tokens.push_back({offset, offset + token.getLength(), kind, std::exchange(after_directive, false)});
  });
}

void CellItems::skip(std::size_t begin, std::size_t end) {
  std::erase_if(m_tokens, [&](const RawToken& token) { return token.begin >= begin && token.begin < end; });
}

bool CellItems::is_added_end(std::size_t offset) const {
  return !m_tokens.empty() && m_tokens.back().begin == offset;
}

bool CellItems::ends_at(std::size_t offset) const {
  const auto last = std::ranges::find_if(m_tokens.rbegin(), m_tokens.rend(),
                                         [](const RawToken& token) { return token.kind != ';'; });
  return last != m_tokens.rend() && offset >= last->begin;
}

std::vector<Diagnostic> CellItems::open_braces(const std::string& file) const {
  std::vector<std::size_t> open;
  for (const RawToken& token : m_tokens) {
    if (token.kind == '{') open.push_back(token.begin);
    if (token.kind == '}' && !open.empty()) open.pop_back();
  }
  if (open.empty()) return {};
  const auto place = [&](std::size_t offset, Severity severity, const char* message) {
    const std::string_view before = std::string_view(m_text).substr(0, offset);
    const std::size_t line = std::size_t(std::ranges::count(before, '\n'));
    const std::size_t start = line == 0 ? 0 : before.rfind('\n') + 1;
    return Diagnostic{file, int(line) + 1, int(offset - start) + 1, severity, message};
  };
  // The last token is the semicolon that ends each cell.
  const std::size_t end = m_tokens.size() > 1 ? m_tokens[m_tokens.size() - 2].end : open.back();
  return {place(end, Severity::error, "expected '}'"),
          place(open.back(), Severity::note, "to match this '{'")};
}

std::size_t CellItems::begin_of_item() const {
  return next_begin(m_done);
}

std::size_t CellItems::next_begin(std::size_t done) const {
  const auto first = std::ranges::find_if(
      m_tokens, [&](const RawToken& token) { return token.begin >= done && token.kind != ';'; });
  return first == m_tokens.end() ? m_text.size() : first->begin;
}

std::size_t CellItems::begin_of_body(std::size_t parameters_end) const {
  for (const RawToken& token : m_tokens)
    if (token.kind == '{' && token.begin >= parameters_end) return token.begin;
  return m_text.size();
}

std::size_t CellItems::end_of_item(std::size_t last, std::size_t body, bool has_semicolon) const {
  auto at = std::ranges::find_if(m_tokens, [&](const RawToken& token) { return token.end > last; });
  if (body < m_text.size()) {
    int depth = 0;
    at = std::ranges::find_if(m_tokens, [&](const RawToken& token) { return token.begin >= body; });
    for (auto next = at; next != m_tokens.end(); ++next) {
      depth += next->kind == '{' ? 1 : next->kind == '}' ? -1 : 0;
      at = next;
      if (depth == 0) break;
    }
  }
  // Clang ends `int e(4);` before the bracket.
  if (has_semicolon)
    for (int depth = 0; at != m_tokens.end() && at + 1 != m_tokens.end(); ++at) {
      depth += at->kind == '{' ? 1 : at->kind == '}' && depth > 0 ? -1 : 0;
      if (depth == 0 && (at + 1)->kind == ';') break;
    }
  if (at == m_tokens.end()) return m_text.size();
  std::size_t end = at->end;
  if (auto next = at + 1; next != m_tokens.end() && next->kind == ';' && !next->after_directive)
    end = next->end;
  return end;
}

void CellItems::note(clang::DeclGroupRef group, const clang::ASTContext& context) {
  if (group.isNull()) return;
  // An unnamed namespace comes behind the directive that uses it, which stands nowhere.
  std::vector<clang::Decl*> typed;
  for (clang::Decl* decl : group)
    if (decl->getLocation().isValid()) typed.push_back(decl);
  if (typed.empty() || !is_of_file(context.getSourceManager(), *typed.front(), m_path)) return;
  // Nor are instantiations items, as of a generic lambda within a statement: no text is theirs.
  if (llvm::isa<clang::EmptyDecl>(typed.front()) || is_implicit_instantiation(*typed.front())) return;
  m_done = add(typed, m_done, -1, context);
}

std::size_t CellItems::add(std::span<clang::Decl* const> group, std::size_t done, int outer,
                           const clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  const clang::Decl &first = *group.front(), &last = *group.back();
  const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&first);
  CellItem item;
  item.outer = outer;
  item.begin = next_begin(done);
  // A body that the parse stepped over. Where it lies, the declaration's range does not tell.
  std::size_t skipped_body = m_text.size();
  if (const clang::FunctionDecl* code = last.getAsFunction(); code && code->hasSkippedBody())
    if (const clang::FunctionTypeLoc type = code->getFunctionTypeLoc())
      skipped_body = begin_of_body(last_offset_of(sources, type.getRParenLoc()));
  item.kind = kind_of(last);
  const bool has_body = skipped_body != m_text.size();
  item.end = end_of_item(last_offset_of(sources, last.getEndLoc()), skipped_body,
                         item.kind == "variable" || (!has_body && has_semicolon(last)));
  // A declaration that Clang passes on in several groups.
  if (item.end <= item.begin || item.end <= done) return done;
  for (const clang::Decl* decl : group) {
    add_names(*decl, item.names);
    add_enumerators(*decl, item);
    add_symbol(*decl, item.symbols);
  }
  if (item.kind == "statement" || item.kind == "expression") {
    item.later = "";
  } else if (function && (llvm::isa<clang::CXXMethodDecl>(function)) && function->isOutOfLine() &&
             !function->isTemplated() && !function->isInlined() && function->doesThisDeclarationHaveABody()) {
    item.later = "";
  } else if (function && function->isThisDeclarationADefinition() && has_separate_body(*function)) {
    const clang::Stmt* code = skipped_body == m_text.size() ? function->getBody() : nullptr;
    const std::size_t body = code ? offset_of(sources, code->getBeginLoc()) : skipped_body;
    if (body > item.begin && body < item.end)
      item.later = trimmed(m_text.substr(item.begin, body - item.begin)) + ";";
  } else if (const auto* member = llvm::dyn_cast<clang::VarDecl>(&first);
             member && member->isStaticDataMember() && !member->isTemplated() && !member->isInline()) {
    item.later = "";  // its class declares it
  } else if (item.kind == "variable") {
    std::string text;
    for (const clang::Decl* decl : group) {
      const auto* variable = llvm::dyn_cast<clang::VarDecl>(decl);
      const auto one = variable ? extern_of(*variable) : std::nullopt;
      if (!one) {
        text.clear();
        break;
      }
      text += (text.empty() ? "" : " ") + *one;
    }
    if (!text.empty()) item.later = text;
  }
  const std::size_t end = item.end;
  m_items.push_back(std::move(item));
  if (group.size() > 1) take_apart(group, context);
  if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(first))
    add_members(*llvm::cast<clang::DeclContext>(&first), context);
  return end;
}

void CellItems::add_members(const clang::DeclContext& scope, const clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  const auto outer = int(m_items.size()) - 1;
  const clang::DeclContext* inner = &scope;
  while (!inner->decls_empty()) {  // namespace a::b { }
    const auto* next = llvm::dyn_cast<clang::NamespaceDecl>(*inner->noload_decls_begin());
    if (!next || !next->isNested()) break;
    inner = next;
  }
  const auto* block = llvm::dyn_cast<clang::LinkageSpecDecl>(inner);
  if (block && !block->hasBraces()) {
    for (const clang::Decl* decl : block->noload_decls()) add_names(*decl, m_items.back().names);
    return;
  }
  const auto& decl = *llvm::cast<clang::Decl>(inner);
  if (decl.getBeginLoc().isMacroID() || decl.getEndLoc().isMacroID()) return;
  std::size_t done = begin_of_body(offset_of(sources, decl.getLocation())) + 1;
  if (done >= m_items.back().end) return;
  std::vector<clang::Decl*> group;
  const auto flush = [&] {
    if (!group.empty()) done = add(group, done, outer, context);
    group.clear();
  };
  for (clang::Decl* one : inner->noload_decls()) {
    if (one->isImplicit() || llvm::isa<clang::EmptyDecl>(one) || is_implicit_instantiation(*one) ||
        !is_of_file(sources, *one, m_path))
      continue;
    if (!group.empty() && one->getBeginLoc() != group.front()->getBeginLoc()) flush();
    group.push_back(one);
  }
  flush();
}

void CellItems::take_apart(std::span<clang::Decl* const> group, const clang::ASTContext& context) {
  const clang::SourceManager& sources = context.getSourceManager();
  const CellItem whole = m_items.back();
  // What stands before the first declarator: the type that all have in common.
  std::string common;
  std::size_t begin = whole.begin;
  std::vector<CellItem> parts;
  for (std::size_t i = 0; i < group.size(); ++i) {
    clang::Decl& decl = *group[i];
    CellItem& part = parts.emplace_back();
    part.outer = whole.outer;
    part.begin = begin;
    part.kind = kind_of(decl);
    add_names(decl, part.names);
    add_symbol(decl, part.symbols);
    if (decl.getLocation().isMacroID() || decl.getEndLoc().isMacroID()) return;
    if (const auto* tag = llvm::dyn_cast<clang::TagDecl>(&decl); tag && i == 0) {
      if (!tag->isThisDeclarationADefinition() || !tag->getIdentifier()) return;
      part.end = sources.getFileOffset(tag->getBraceRange().getEnd()) + 1;
      if (part.end <= part.begin || part.end > whole.end) return;
      part.alone = m_text.substr(part.begin, part.end - part.begin) + ";";
      common = tag->getNameAsString() + " ";
      begin = part.end;
      add_enumerators(decl, part);
      continue;
    }
    const auto* variable = llvm::dyn_cast<clang::VarDecl>(&decl);
    if (!variable || llvm::isa<clang::DecompositionDecl>(variable) || !variable->getTypeSourceInfo()) return;
    const std::size_t declarator = begin_of_declarator(*variable, sources);
    if (i == 0) {
      if (declarator <= whole.begin) return;
      common = m_text.substr(whole.begin, declarator - whole.begin);
    }
    part.end =
        i + 1 == group.size() ? whole.end : end_of_declarator(last_offset_of(sources, variable->getEndLoc()));
    if (declarator < part.begin || declarator >= part.end || part.end > whole.end) return;
    std::string own = trimmed(m_text.substr(declarator, part.end - declarator));
    while (own.ends_with(';') || own.ends_with(',')) {
      own.pop_back();
      own = trimmed(own);
    }
    part.alone = common + own + ";";
    part.later = extern_of(*variable);
    begin = part.end;
  }
  m_items.pop_back();
  m_items.insert(m_items.end(), parts.begin(), parts.end());
}

std::size_t CellItems::end_of_declarator(std::size_t last) const {
  // Clang ends `int e(4), f;` before the bracket.
  for (const RawToken& token : m_tokens)
    if (token.begin >= last && (token.kind == ';' || token.kind == ',')) return token.end;
  return m_text.size() + 1;
}

std::string CellItems::json() const {
  nlohmann::json list = nlohmann::json::array();
  for (const CellItem& item : m_items) {
    nlohmann::json one = {{"begin", item.begin},
                          {"end", item.end},
                          {"kind", item.kind},
                          {"names", item.names},
                          {"symbols", item.symbols}};
    if (item.outer >= 0) one["outer"] = item.outer;
    if (!item.values.empty()) one["values"] = item.values;
    if (item.alone) one["alone"] = *item.alone;
    one["later"] = item.later ? nlohmann::json(*item.later) : nlohmann::json();
    list.push_back(std::move(one));
  }
  return nlohmann::json{{"items", std::move(list)}}.dump(-1, ' ', false,
                                                         nlohmann::json::error_handler_t::replace);
}

bool is_in_cell(const clang::SourceManager& sources, const clang::Decl& decl, const std::string& cell_path) {
  return is_of_file(sources, decl, cell_path);
}

bool is_in_earlier_cell(const clang::SourceManager& sources, const clang::Decl& decl,
                        const std::string& cell_path) {
  return is_in_earlier_cell(sources, decl.getLocation(), cell_path);
}

bool is_in_earlier_cell(const clang::SourceManager& sources, clang::SourceLocation place,
                        const std::string& cell_path) {
  place = sources.getExpansionLoc(place);
  if (place.isInvalid()) return false;
  const llvm::StringRef file = sources.getFilename(place);
  return file.starts_with(k_source_dir) && file != cell_path;
}

void forget_definitions(clang::Decl& decl) {
  if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl)) {
    for (clang::Decl* inner : llvm::cast<clang::DeclContext>(&decl)->noload_decls())
      forget_definitions(*inner);
    return;
  }
  if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(&decl)) {
    const bool is_shared = function->isInlined() || function->isTemplated() ||
                           function->isTemplateInstantiation() || function->isConstexpr();
    if (!is_shared && function->doesThisDeclarationHaveABody()) function->setBody(nullptr);
    return;
  }
  auto* variable = llvm::dyn_cast<clang::VarDecl>(&decl);
  if (!variable || variable->isInline() || variable->isTemplated() || variable->isStaticDataMember() ||
      llvm::isa<clang::VarTemplateSpecializationDecl>(variable))
    return;
  if (variable->isThisDeclarationADefinition() != clang::VarDecl::Definition) return;
  // A constant of the language is the same in each cell.
  const bool is_constant = variable->getType().isConstQualified() && variable->hasInit() &&
                           variable->hasConstantInitialization() &&
                           variable->getFormalLinkage() == clang::Linkage::Internal;
  if (is_constant || variable->isConstexpr()) return;
  variable->setInit(nullptr);
  variable->setStorageClass(clang::SC_Extern);
}

void keep_definitions(clang::Decl& decl) {
  if (llvm::isa<clang::NamespaceDecl, clang::LinkageSpecDecl>(decl)) {
    for (clang::Decl* inner : llvm::cast<clang::DeclContext>(&decl)->noload_decls()) keep_definitions(*inner);
    return;
  }
  if (decl.isTemplated() || decl.hasAttr<clang::UsedAttr>() || is_of_device(decl) ||
      decl.hasAttr<clang::CUDAGlobalAttr>())
    return;
  const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&decl);
  const auto* variable = llvm::dyn_cast<clang::VarDecl>(&decl);
  const bool is_left_out =
      function ? !function->isInlined() && function->doesThisDeclarationHaveABody() &&
                     !function->isExternallyVisible()
               : variable && !variable->isInline() && !variable->isConstexpr() &&
                     variable->isThisDeclarationADefinition() == clang::VarDecl::Definition &&
                     !variable->isExternallyVisible() &&
                     !(variable->getType().isConstQualified() && variable->hasConstantInitialization());
  if (is_left_out) decl.addAttr(clang::UsedAttr::CreateImplicit(decl.getASTContext()));
}

// Clang takes a class for one without a key function if the first candidate is imported, and the class is
// not.
NoKeyFunctions::NoKeyFunctions(clang::ASTContext& context,
                               const std::vector<clang::CXXRecordDecl*>& classes) {
  for (clang::CXXRecordDecl* one : classes) {
    if (!one->isCompleteDefinition() || one->isInvalidDecl() || one->isDependentType() ||
        !one->isDynamicClass())
      continue;
    const clang::CXXMethodDecl* key = context.getCurrentKeyFunction(one);
    if (!key) continue;
    auto* first = const_cast<clang::CXXMethodDecl*>(key->getCanonicalDecl());
    first->addAttr(clang::DLLImportAttr::CreateImplicit(context));
    context.setNonKeyFunction(first);
    m_marked.push_back(first);
  }
}

NoKeyFunctions::~NoKeyFunctions() {
  for (clang::CXXMethodDecl* one : m_marked) one->dropAttr<clang::DLLImportAttr>();
}

}  // namespace tarsia::jit
