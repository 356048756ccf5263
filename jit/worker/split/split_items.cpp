// Which tokens belong to which declaration, what the device may need of it, and what the device must not see.
#include "jit/worker/split/split_items.h"

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclFriend.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/split/host_types.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {
namespace {

using Cut = SplitCut;
using Item = SplitItem;

bool has_device_member(const clang::CXXRecordDecl& record) {
  for (const clang::Decl* member : record.decls()) {
    const clang::Decl& inner = templated(*member);
    if (has_device_attribute(inner) && !inner.isImplicit()) return true;
    if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(&inner))
      if (nested != &record && !nested->isInjectedClassName() && has_device_member(*nested)) return true;
  }
  return false;
}

// `using namespace` of something that only the host has.
bool is_host_directive(const clang::UsingDirectiveDecl& directive) {
  const clang::NamespaceDecl* space = directive.getNominatedNamespace();
  const auto* outer = space ? llvm::dyn_cast<clang::NamespaceDecl>(space->getDeclContext()) : nullptr;
  for (; outer; outer = llvm::dyn_cast<clang::NamespaceDecl>(outer->getDeclContext()))
    if (outer->getName() == "std") return true;  // chrono, literals, placeholders, filesystem
  return false;
}

struct File : SplitFile {
  std::vector<std::pair<size_t, size_t>> opened;  // namespaces and linkage blocks: their token ranges
};

class ItemReader {
 public:
  ItemReader(clang::ASTContext& context, const TokenRecorder& recorder)
      : m_context(context), m_sources(context.getSourceManager()), m_host_types(context) {
    for (const auto& [id, recorded] : recorder.files()) {
      File& file = m_files[id];
      file.tokens = &recorded.tokens;
      file.regions = read_regions(m_sources.getBufferData(id), recorded.skipped, context.getLangOpts());
    }
  }

  std::map<clang::FileID, SplitFile> run() {
    collect(m_context.getTranslationUnitDecl());
    std::map<clang::FileID, SplitFile> result;
    for (auto& [id, file] : m_files) {
      merge(file);
      adopt_unseen_names(file);
      adopt_gaps(file);
      result.emplace(id, std::move(file));
    }
    return result;
  }

 private:
  File* file_of(clang::SourceLocation location) {
    auto found = m_files.find(m_sources.getFileID(m_sources.getExpansionLoc(location)));
    return found == m_files.end() ? nullptr : &found->second;
  }

  uint32_t begin_offset(clang::SourceLocation location) const {
    return m_sources.getFileOffset(m_sources.getExpansionLoc(location));
  }

  uint32_t end_offset(clang::SourceLocation location) const {
    return m_sources.getFileOffset(m_sources.getExpansionRange(location).getEnd());
  }

  static size_t first_at(const Tokens& tokens, uint32_t offset) {
    return std::lower_bound(tokens.begin(), tokens.end(), offset,
                            [](const auto& token, uint32_t at) { return token.begin < at; }) -
           tokens.begin();
  }

  // One past the last token that begins at or before the offset.
  static size_t past(const Tokens& tokens, uint32_t offset) {
    return std::upper_bound(tokens.begin(), tokens.end(), offset,
                            [](uint32_t at, const auto& token) { return at < token.begin; }) -
           tokens.begin();
  }

  // All tokens of a macro have the macro's place.
  static bool one_macro(const Tokens& tokens, size_t begin, size_t end) {
    return end - begin > 1 && tokens[begin].begin == tokens[end - 1].begin;
  }

  void collect(const clang::DeclContext* scope) {
    for (const clang::Decl* decl : scope->noload_decls()) {
      if (decl->isImplicit() || !is_user_file(m_sources, decl->getLocation())) continue;
      File* file = file_of(decl->getBeginLoc());
      if (!file) continue;
      if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(decl)) {
        open(*file, space->getBeginLoc(), space->getRBraceLoc());
        collect(space);
      } else if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl);
                 linkage && linkage->hasBraces()) {
        open(*file, linkage->getBeginLoc(), linkage->getRBraceLoc());
        collect(linkage);
      } else {
        add(*file, *decl);
      }
    }
  }

  // The tokens that open and close a namespace belong to no item.
  void open(File& file, clang::SourceLocation begin, clang::SourceLocation end) {
    const Tokens& tokens = *file.tokens;
    size_t at = first_at(tokens, begin_offset(begin));
    size_t brace = at;
    while (brace < tokens.size() && tokens[brace].kind != clang::tok::l_brace) ++brace;
    file.opened.emplace_back(at, brace + 1);
    size_t close = first_at(tokens, begin_offset(end));
    file.opened.emplace_back(close, close + 1);
  }

  void add(File& file, const clang::Decl& decl) {
    const Tokens& tokens = *file.tokens;
    Item item;
    item.begin = first_at(tokens, begin_offset(decl.getBeginLoc()));
    item.end = past(tokens, end_offset(decl.getEndLoc()));
    if (item.begin >= tokens.size()) return;
    item.end = std::max(item.end, item.begin + 1);
    std::vector<const clang::CXXRecordDecl*> records;
    describe(decl, item, records);
    const clang::Decl* inner = &templated(decl);
    if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(inner))
      for (const clang::Decl* child : linkage->decls()) {
        describe(*child, item, records);
        inner = &templated(*child);
      }
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(inner)) {
      // A declaration's range does not include a body that was skipped.
      if (stepped_over(*function)) {
        item.end = skip_body(tokens, item.end);
        item.bodies.emplace_back(body_in(tokens, *function, item), item.end);
      } else if (item.use == Item::host) {
        cut_host_function(file, *function, item);
      }
    }
    for (const clang::CXXRecordDecl* record : records) {
      add_bodies(file, *record, item.bodies);
      cut_host_members(file, *record, item.cuts);
    }
    if (item.end < tokens.size() && tokens[item.end].kind == clang::tok::semi) ++item.end;
    file.items.push_back(std::move(item));
  }

  static bool stepped_over(const clang::FunctionDecl& function) {
    return function.hasSkippedBody() || (is_device_only(function) && function.isThisDeclarationADefinition());
  }

  // Where the body begins of a function that ends with it: behind the parameters.
  //
  // Work-around: Clang does not tell where a function ends whose body it stepped over.
  // Trigger: a kernel, or a function of the device alone. Symptom: the end of the declaration's range may lie
  // before a constructor's initialisers, or behind the body (see skip_body). Removal: it lies behind the
  // body.
  size_t body_in(const Tokens& tokens, const clang::FunctionDecl& function, const Item& item) const {
    const clang::FunctionTypeLoc type = function.getFunctionTypeLoc();
    size_t at = type && type.getRParenLoc().isValid() ? first_at(tokens, begin_offset(type.getRParenLoc()))
                                                      : item.end;
    while (at < item.end && tokens[at].kind != clang::tok::l_brace) ++at;
    return at;
  }

  // From the end of a declarator past the function's body.
  static size_t skip_body(const Tokens& tokens, size_t at) {
    int depth = 0, round = 0;
    // The declarator may end before its exception specification or a constructor's initialisers.
    if (at > 0 && tokens[at - 1].kind == clang::tok::r_brace) return at;
    bool initialisers = false;
    for (; at < tokens.size(); ++at) {
      switch (tokens[at].kind) {
        case clang::tok::l_paren:
          ++round;
          break;
        case clang::tok::r_paren:
          --round;
          break;
        case clang::tok::colon:
          initialisers |= depth == 0 && round == 0;
          break;
        case clang::tok::l_brace:
          ++depth;
          break;
        case clang::tok::r_brace: {
          if (--depth > 0 || round > 0) break;
          // `: a{1}, b{2} {}`: a member's braces are followed by more.
          auto next = at + 1 < tokens.size() ? tokens[at + 1].kind : clang::tok::eof;
          if (initialisers && (next == clang::tok::comma || next == clang::tok::l_brace)) break;
          return at + 1;
        }
        case clang::tok::semi:
          if (depth == 0 && round <= 0) return at;
          break;
        default:
          break;
      }
    }
    return at;
  }

  void describe(const clang::Decl& decl, Item& item, std::vector<const clang::CXXRecordDecl*>& records) {
    const clang::Decl& inner = templated(decl);
    auto at_least = [&](Item::Use use) { item.use = std::max(item.use, use); };
    if (const auto* named = llvm::dyn_cast<clang::NamedDecl>(&inner))
      if (const clang::IdentifierInfo* name = named->getIdentifier()) item.names.push_back(name);
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&inner)) {
      item.function = true;
      item.both |= has_device_attribute(*function) && !is_device_only(*function);
      if (has_device_attribute(*function))
        at_least(Item::device);
      else if ((function->isConstexpr() && !m_host_types.is_host(*function)) ||
               llvm::isa<clang::CXXDeductionGuideDecl>(function))
        at_least(Item::soft);
    } else if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&inner)) {
      if (has_device_attribute(*variable))
        at_least(Item::device);
      else if (m_host_types.is_host(variable->getType()))
        at_least(Item::host);
      else if (variable->isConstexpr() ||
               (variable->getType().isConstQualified() && variable->getType()->isScalarType()))
        at_least(Item::soft);
    } else if (const auto* directive = llvm::dyn_cast<clang::UsingDirectiveDecl>(&inner)) {
      at_least(is_host_directive(*directive) ? Item::host : Item::device);
    } else if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&inner)) {
      const bool defines = record->isThisDeclarationADefinition();
      if (defines) records.push_back(record);
      item.both |= defines && has_device_member(*record);
      at_least(defines && has_device_member(*record) ? Item::device
               : m_host_types.is_host(*record)       ? Item::host
                                                     : Item::soft);
    } else if (const auto* enumeration = llvm::dyn_cast<clang::EnumDecl>(&inner)) {
      for (const clang::EnumConstantDecl* constant : enumeration->enumerators())
        item.names.push_back(constant->getIdentifier());
      at_least(Item::soft);
    } else if (const auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(&inner)) {
      at_least(m_host_types.is_host(alias->getUnderlyingType()) ? Item::host : Item::soft);
    } else if (llvm::isa<clang::TypeDecl, clang::TemplateDecl, clang::NamespaceAliasDecl>(inner)) {
      at_least(Item::soft);
    } else if (const auto* alias = llvm::dyn_cast<clang::UsingDecl>(&inner)) {
      if (alias->getDeclName().isIdentifier())
        item.names.push_back(alias->getDeclName().getAsIdentifierInfo());
      at_least(Item::soft);
    }
  }

  // Bodies of a class's device members.
  void add_bodies(const File& file, const clang::CXXRecordDecl& record,
                  std::vector<std::pair<size_t, size_t>>& bodies) {
    const Tokens& tokens = *file.tokens;
    for (const clang::Decl* member : record.decls()) {
      if (member->isImplicit() || file_of(member->getBeginLoc()) != &file) continue;
      const clang::Decl& inner = templated(*member);
      if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(&inner);
          nested && nested->isThisDeclarationADefinition())
        add_bodies(file, *nested, bodies);
      const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&inner);
      if (!function || !function->hasSkippedBody()) continue;
      const size_t body = past(tokens, end_offset(member->getEndLoc()));
      bodies.emplace_back(body, skip_body(tokens, body));
    }
  }

  // A host function stays as a stub if a function of both sides calls it. nvcc takes that with a warning,
  // since the device may never make the call.
  void cut_host_function(const File& file, const clang::FunctionDecl& function, Item& item) {
    const Tokens& tokens = *file.tokens;
    if (function.isMain() || m_host_types.is_host(function) || llvm::isa<clang::CXXMethodDecl>(function) ||
        !function.getIdentifier())
      return;
    if (function.doesThisDeclarationHaveABody()) {
      const clang::Stmt* body = function.getBody();
      if (!body || file_of(body->getBeginLoc()) != &file) return;
      size_t begin = first_at(tokens, begin_offset(body->getBeginLoc()));
      if (begin <= item.begin || begin >= item.end || tokens[begin].kind != clang::tok::l_brace ||
          one_macro(tokens, begin, item.end))
        return;
      item.cuts.push_back({begin, item.end, Cut::body});
    }
    item.callable = true;
  }

  // Members that only the host needs, of a class that stays. Their bodies go. If their types are the host's
  // as well, the whole members go.
  void cut_host_members(const File& file, const clang::CXXRecordDecl& record, std::vector<Cut>& cuts) {
    const Tokens& tokens = *file.tokens;
    for (const clang::Decl* member : record.decls()) {
      if (member->isImplicit() || file_of(member->getBeginLoc()) != &file) continue;
      const clang::Decl* inner = &templated(*member);
      if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(inner)) {
        if (nested->isThisDeclarationADefinition()) cut_host_members(file, *nested, cuts);
        continue;
      }
      bool whole = false;
      if (const auto* friendship = llvm::dyn_cast<clang::FriendDecl>(inner)) {
        if (!friendship->getFriendDecl()) continue;
        inner = &templated(*friendship->getFriendDecl());
        whole = true;
      }
      size_t begin = first_at(tokens, begin_offset(member->getBeginLoc()));
      size_t end = past(tokens, end_offset(member->getEndLoc()));
      if (begin >= end || one_macro(tokens, begin, end)) continue;
      if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(inner)) {
        if (!has_device_attribute(*variable) && m_host_types.is_host(variable->getType()))
          cuts.push_back({begin, end});
      } else if (const auto* alias = llvm::dyn_cast<clang::TypedefNameDecl>(inner)) {
        if (m_host_types.is_host(alias->getUnderlyingType())) cuts.push_back({begin, end});
      }
      const auto* function = llvm::dyn_cast<clang::FunctionDecl>(inner);
      if (!function || has_device_attribute(*function) || function->isConstexpr() ||
          function->isDefaulted() || function->isDeleted())
        continue;
      size_t body = begin;
      int round = 0;
      for (; body < end; ++body) {
        auto kind = tokens[body].kind;
        if (kind == clang::tok::l_paren) ++round;
        if (kind == clang::tok::r_paren) --round;
        if (round == 0 &&
            (kind == clang::tok::l_brace || kind == clang::tok::colon || kind == clang::tok::kw_try))
          break;
      }
      whole |= m_host_types.is_host(*function);
      for (size_t i = begin; i < body; ++i)
        whole |= tokens[i].identifier && tokens[i].identifier->isStr("std");
      if (whole)
        cuts.push_back(
            {begin, end, function->doesThisDeclarationHaveABody() ? Cut::semicolon : Cut::nothing});
      else if (body < end)
        cuts.push_back({body, end,
                        llvm::isa<clang::CXXConstructorDecl, clang::CXXDestructorDecl>(function)
                            ? Cut::semicolon
                            : Cut::body});
    }
  }

  // Declarations of one group ("int a, b;") or of one macro's expansion share tokens. They go or stay
  // together.
  static void merge(File& file) {
    auto& items = file.items;
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.begin < b.begin; });
    // Attributes and specifiers may lie before a declaration's range. They reach back to the previous end.
    const Tokens& tokens = *file.tokens;
    std::vector<Item> merged;
    for (Item& item : items) {
      if (!merged.empty() && item.begin < merged.back().end) {
        Item& into = merged.back();
        into.callable = false;
        into.end = std::max(into.end, item.end);
        into.use = std::max(into.use, item.use);
        into.function |= item.function;
        into.both |= item.both;
        into.names.insert(into.names.end(), item.names.begin(), item.names.end());
        into.bodies.insert(into.bodies.end(), item.bodies.begin(), item.bodies.end());
        into.cuts.insert(into.cuts.end(), item.cuts.begin(), item.cuts.end());
        continue;
      }
      size_t floor = merged.empty() ? 0 : merged.back().end;
      while (item.begin > floor) {
        auto kind = tokens[item.begin - 1].kind;
        if (kind == clang::tok::semi || kind == clang::tok::r_brace || kind == clang::tok::l_brace) break;
        --item.begin;
      }
      merged.push_back(std::move(item));
    }
    items = std::move(merged);
  }

  // Names in regions that only the device sees belong to the declaration that holds the region.
  void adopt_unseen_names(File& file) {
    const Tokens& tokens = *file.tokens;
    for (const auto& [at, word] : file.regions.names) {
      auto found = m_context.Idents.find(word);
      if (found == m_context.Idents.end()) continue;
      auto next = std::upper_bound(
          file.items.begin(), file.items.end(), at,
          [&](uint32_t offset, const Item& item) { return offset < tokens[item.begin].begin; });
      Item* item = next == file.items.begin() ? nullptr : &*std::prev(next);
      const bool inside = item && item->end > item->begin && at < tokens[item->end - 1].end;
      (inside ? item->unseen : file.unseen).push_back(found->second);
    }
  }

  // Tokens between items are split at semicolons. A part stays if it names a function that stays.
  //
  // Work-around: Clang leaves no declaration for the explicit instantiation of a function.
  // Trigger: `template __global__ void scale<float>(…);` in the user's text. Symptom: its tokens belong to
  // nothing, and the device's compiler would not see them. Removal: Clang's tree holds these directives.
  static void adopt_gaps(File& file) {
    const Tokens& tokens = *file.tokens;
    std::vector<char> owned(tokens.size(), 0);
    for (const Item& item : file.items)
      std::fill(owned.begin() + item.begin, owned.begin() + std::min(item.end, tokens.size()), 1);
    for (auto [begin, end] : file.opened)
      for (size_t i = begin; i < end && i < tokens.size(); ++i) owned[i] = 1;
    std::vector<Item> gaps;
    for (size_t i = 0; i < tokens.size();) {
      if (owned[i]) {
        ++i;
        continue;
      }
      Item gap;
      gap.nameless = true;
      gap.begin = i;
      while (i < tokens.size() && !owned[i] && tokens[i].kind != clang::tok::semi) ++i;
      if (i < tokens.size() && !owned[i]) ++i;
      gap.end = i;
      gaps.push_back(std::move(gap));
    }
    for (Item& gap : gaps) file.items.push_back(std::move(gap));
  }

  clang::ASTContext& m_context;
  const clang::SourceManager& m_sources;
  HostTypes m_host_types;
  std::map<clang::FileID, File> m_files;
};

}  // namespace

std::map<clang::FileID, SplitFile> read_items(clang::ASTContext& context, const TokenRecorder& recorder) {
  return ItemReader(context, recorder).run();
}

}  // namespace tarsia::jit
