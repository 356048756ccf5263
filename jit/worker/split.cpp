// The split: which parts of a CUDA source the device's compiler needs.
//
// NVRTC takes neither host-only code nor the standard library, so it is given a slice: the user's files at
// their original lines and columns, in which everything that only the host needs is blanked out. Kernels and
// device functions stay; types, constants, aliases and constexpr functions stay if something that stays names
// them. The closure goes by identifiers, not by resolved references: the host's parse steps over device
// bodies, which may hold what never parses as host code, so all that is known of a body are its tokens. Going
// by names keeps too much now and then (a type that happens to be called like a local variable), never too
// little.
//
// Directives stay wherever they stand, so that the device's own preprocessing (__CUDA_ARCH__) sees what it
// would see under nvcc; regions that the host's preprocessing skipped stay outside of blanked declarations.
#include "jit/worker/split.h"

#include <algorithm>
#include <deque>
#include <set>

#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"
#include "clang/Lex/Lexer.h"
#include "clang/Lex/PPCallbacks.h"
#include "clang/Lex/Preprocessor.h"
#include "jit/worker/diagnostics.h"
#include "jit/worker/exports.h"
#include "jit/worker/source_fs.h"

namespace tarsia::jit {
namespace {

using Tokens = std::vector<TokenRecorder::Token>;

template <class Visit>
void for_each_decl(const clang::DeclContext* scope, const clang::SourceManager& sources, const Visit& visit) {
  for (clang::Decl* decl : scope->noload_decls()) {
    if (!is_user_file(sources, decl->getLocation())) continue;
    visit(decl);
    if (auto* space = llvm::dyn_cast<clang::NamespaceDecl>(decl)) for_each_decl(space, sources, visit);
    if (auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(decl)) for_each_decl(linkage, sources, visit);
  }
}

bool has_device_attribute(const clang::Decl& decl) {
  return decl.hasAttr<clang::CUDAGlobalAttr>() || decl.hasAttr<clang::CUDADeviceAttr>() ||
         decl.hasAttr<clang::CUDAConstantAttr>() || decl.hasAttr<clang::CUDASharedAttr>();
}

// Clang knows `managed` for HIP only: the host's prelude makes __managed__ a device variable with this mark.
bool is_managed(const clang::VarDecl& variable) {
  for (const auto* mark : variable.specific_attrs<clang::AnnotateAttr>())
    if (mark->getAnnotation() == "tarsia_managed") return true;
  return false;
}

const clang::Decl& templated(const clang::Decl& decl) {
  if (const auto* pattern = llvm::dyn_cast<clang::TemplateDecl>(&decl))
    if (pattern->getTemplatedDecl()) return *pattern->getTemplatedDecl();
  return decl;
}

bool has_device_member(const clang::CXXRecordDecl& record) {
  for (const clang::Decl* member : record.decls()) {
    const clang::Decl& inner = templated(*member);
    if (has_device_attribute(inner) && !inner.isImplicit()) return true;
    if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(&inner))
      if (nested != &record && !nested->isInjectedClassName() && has_device_member(*nested)) return true;
  }
  return false;
}

// A declaration at namespace scope, as a range of tokens of its file.
struct Item {
  size_t begin = 0, end = 0;                      // tokens [begin, end)
  std::vector<std::pair<size_t, size_t>> bodies;  // of device functions: tokens that the host steps over
  enum Use { host, soft, device } use = host;
  bool kept = false;
  bool function = false;
  std::vector<const clang::IdentifierInfo*> names;
  std::vector<const clang::CXXRecordDecl*> records;
};

struct File {
  clang::FileID id;
  const Tokens* tokens = nullptr;
  std::vector<Item> items;
  std::vector<std::pair<uint32_t, uint32_t>> opened;  // namespaces and linkage blocks: their token ranges
};

class Splitter {
 public:
  Splitter(clang::ASTContext& context, const TokenRecorder& recorder)
      : m_context(context), m_sources(context.getSourceManager()) {
    for (const auto& [id, recorded] : recorder.files()) {
      m_files[id].id = id;
      m_files[id].tokens = &recorded.tokens;
    }
  }

  void run(const DeviceSlice& slice) {
    collect(m_context.getTranslationUnitDecl());
    for (auto& [id, file] : m_files) {
      merge(file);
      adopt_gaps(file);
    }
    close(slice);
  }

  // The text without what the host steps over, lines as they were.
  std::string host_text(clang::FileID id, llvm::StringRef text) {
    std::vector<char> gone(text.size(), 0);
    File& file = m_files.at(id);
    for (const Item& item : file.items) {
      for (auto [begin, end] : item.bodies) blank(file, begin, end, gone);
      for (const clang::CXXRecordDecl* record : item.records) blank_device_members(file, *record, gone);
    }
    std::string result = text.str();
    for (size_t i = 0; i < gone.size(); ++i)
      if (gone[i] && result[i] != '\n') result[i] = ' ';
    return result;
  }

  // Which bytes of the file go: 1 for blanked, 2 for a ';' in its place.
  std::vector<char> mask(clang::FileID id, llvm::StringRef text) {
    std::vector<char> gone(text.size(), 0);
    File& file = m_files.at(id);
    for (const Item& item : file.items) {
      if (!item.kept)
        blank(file, item.begin, item.end, gone);
      else
        for (const clang::CXXRecordDecl* record : item.records) thin_out(file, *record, gone);
    }
    spare_directives(text, gone);
    return gone;
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

  // The tokens that open and close a namespace are nobody's item.
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
    describe(decl, item);
    const clang::Decl* inner = &templated(decl);
    if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(inner))
      for (const clang::Decl* child : linkage->decls()) {
        describe(*child, item);
        inner = &templated(*child);
      }
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(inner)) {
      // A body that was stepped over is not part of the declaration's range.
      if (stepped_over(*function)) {
        size_t body = item.end;
        item.end = skip_body(tokens, item.end);
        item.bodies.emplace_back(body, item.end);
      }
    }
    if (item.end < tokens.size() && tokens[item.end].kind == clang::tok::semi) ++item.end;
    file.items.push_back(std::move(item));
  }

  static bool stepped_over(const clang::FunctionDecl& function) {
    return function.hasSkippedBody() || (is_device_only(function) && function.isThisDeclarationADefinition());
  }

  static size_t skip_body(const Tokens& tokens, size_t at) {
    int depth = 0, round = 0;
    // The declarator may end before its exception specification or a constructor's initialisers.
    if (at > 0 && tokens[at - 1].kind == clang::tok::r_brace) return at;
    for (; at < tokens.size(); ++at) {
      switch (tokens[at].kind) {
        case clang::tok::l_paren:
          ++round;
          break;
        case clang::tok::r_paren:
          --round;
          break;
        case clang::tok::l_brace:
          ++depth;
          break;
        case clang::tok::r_brace:
          if (--depth <= 0 && round <= 0) return at + 1;
          break;
        case clang::tok::semi:
          if (depth == 0 && round <= 0) return at;
          break;
        default:
          break;
      }
    }
    return at;
  }

  void describe(const clang::Decl& decl, Item& item) {
    const clang::Decl& inner = templated(decl);
    auto at_least = [&](Item::Use use) { item.use = std::max(item.use, use); };
    if (const auto* named = llvm::dyn_cast<clang::NamedDecl>(&inner))
      if (const clang::IdentifierInfo* name = named->getIdentifier()) item.names.push_back(name);
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&inner)) {
      item.function = true;
      if (has_device_attribute(*function))
        at_least(Item::device);
      else if (function->isConstexpr() || llvm::isa<clang::CXXDeductionGuideDecl>(function))
        at_least(Item::soft);
    } else if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&inner)) {
      if (has_device_attribute(*variable))
        at_least(Item::device);
      else if (variable->isConstexpr() ||
               (variable->getType().isConstQualified() && variable->getType()->isScalarType()))
        at_least(Item::soft);
    } else if (llvm::isa<clang::UsingDirectiveDecl>(inner)) {
      at_least(Item::device);
    } else if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&inner)) {
      if (record->isThisDeclarationADefinition()) item.records.push_back(record);
      at_least(record->isThisDeclarationADefinition() && has_device_member(*record) ? Item::device
                                                                                    : Item::soft);
    } else if (const auto* enumeration = llvm::dyn_cast<clang::EnumDecl>(&inner)) {
      for (const clang::EnumConstantDecl* constant : enumeration->enumerators())
        item.names.push_back(constant->getIdentifier());
      at_least(Item::soft);
    } else if (llvm::isa<clang::TypeDecl, clang::TemplateDecl, clang::NamespaceAliasDecl>(inner)) {
      at_least(Item::soft);
    } else if (const auto* alias = llvm::dyn_cast<clang::UsingDecl>(&inner)) {
      if (alias->getDeclName().isIdentifier())
        item.names.push_back(alias->getDeclName().getAsIdentifierInfo());
      at_least(Item::soft);
    }
  }

  // Declarations of one group ("int a, b;") or of one macro's expansion share tokens: they go or stay
  // together.
  static void merge(File& file) {
    auto& items = file.items;
    std::stable_sort(items.begin(), items.end(),
                     [](const Item& a, const Item& b) { return a.begin < b.begin; });
    // Attributes and specifiers that a declaration's range leaves out come before it, up to the previous end.
    const Tokens& tokens = *file.tokens;
    std::vector<Item> merged;
    for (Item& item : items) {
      if (!merged.empty() && item.begin < merged.back().end) {
        Item& into = merged.back();
        into.end = std::max(into.end, item.end);
        into.use = std::max(into.use, item.use);
        into.function |= item.function;
        into.names.insert(into.names.end(), item.names.begin(), item.names.end());
        into.bodies.insert(into.bodies.end(), item.bodies.begin(), item.bodies.end());
        into.records.insert(into.records.end(), item.records.begin(), item.records.end());
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

  // Explicit instantiations of functions leave no declaration behind: what lies between items is split at its
  // semicolons and stays if it names a function that stays.
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
      gap.begin = i;
      while (i < tokens.size() && !owned[i] && tokens[i].kind != clang::tok::semi) ++i;
      if (i < tokens.size() && !owned[i]) ++i;
      gap.end = i;
      gaps.push_back(std::move(gap));
    }
    for (Item& gap : gaps) file.items.push_back(std::move(gap));
  }

  void close(const DeviceSlice& slice) {
    std::map<const clang::IdentifierInfo*, std::vector<Item*>> by_name;
    std::deque<std::pair<const File*, Item*>> work;
    std::map<Item*, const File*> home;
    for (auto& [id, file] : m_files)
      for (Item& item : file.items) {
        home[&item] = &file;
        for (const clang::IdentifierInfo* name : item.names) by_name[name].push_back(&item);
      }
    auto keep = [&](Item* item) {
      if (item->kept || item->use == Item::host) return;
      item->kept = true;
      work.emplace_back(home[item], item);
    };
    auto keep_named = [&](const clang::IdentifierInfo* name) {
      auto found = by_name.find(name);
      if (found == by_name.end()) return;
      for (Item* item : found->second) keep(item);
    };
    for (auto& [item, file] : home)
      if (item->use == Item::device) keep(item);
    // Types that appear in kernels' template arguments are named by the host alone.
    for (const KernelUse& kernel : slice.kernels)
      for (const std::string& word : words(kernel.name))
        if (auto found = m_context.Idents.find(word); found != m_context.Idents.end())
          keep_named(found->second);
    std::set<const clang::IdentifierInfo*> kept_functions;
    while (!work.empty()) {
      auto [file, item] = work.front();
      work.pop_front();
      if (item->function) kept_functions.insert(item->names.begin(), item->names.end());
      for (size_t i = item->begin; i < item->end && i < file->tokens->size(); ++i)
        if (const clang::IdentifierInfo* name = (*file->tokens)[i].identifier) keep_named(name);
    }
    for (auto& [item, file] : home)
      if (item->names.empty() && item->use == Item::host)
        for (size_t i = item->begin; i < item->end && i < file->tokens->size(); ++i)
          if (kept_functions.count((*file->tokens)[i].identifier)) item->kept = true;
  }

  static std::vector<std::string> words(llvm::StringRef text) {
    std::vector<std::string> all;
    std::string word;
    for (char c : (text + " ").str()) {
      if (isalnum(static_cast<unsigned char>(c)) || c == '_') {
        word += c;
      } else if (!word.empty()) {
        all.push_back(std::move(word));
        word.clear();
      }
    }
    return all;
  }

  static void blank(const File& file, size_t begin, size_t end, std::vector<char>& gone) {
    if (begin >= end || begin >= file.tokens->size()) return;
    uint32_t from = (*file.tokens)[begin].begin, to = from;
    for (size_t i = begin; i < end && i < file.tokens->size(); ++i) to = std::max(to, (*file.tokens)[i].end);
    for (uint32_t i = from; i < to && i < gone.size(); ++i)
      if (!gone[i]) gone[i] = 1;
  }

  void blank_device_members(const File& file, const clang::CXXRecordDecl& record, std::vector<char>& gone) {
    const Tokens& tokens = *file.tokens;
    for (const clang::Decl* member : record.decls()) {
      if (member->isImplicit()) continue;
      const clang::Decl& inner = templated(*member);
      if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(&inner);
          nested && nested->isThisDeclarationADefinition())
        blank_device_members(file, *nested, gone);
      const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&inner);
      if (!function || !function->hasSkippedBody() || file_of(member->getBeginLoc()) != &file) continue;
      size_t body = past(tokens, end_offset(member->getEndLoc()));
      blank(file, body, skip_body(tokens, body), gone);
    }
  }

  // Members of a class that stays but are only the host's: bodies go; the whole of them if their signature
  // needs the standard library.
  void thin_out(const File& file, const clang::CXXRecordDecl& record, std::vector<char>& gone) {
    const Tokens& tokens = *file.tokens;
    for (const clang::Decl* member : record.decls()) {
      if (member->isImplicit()) continue;
      const clang::Decl& inner = templated(*member);
      if (const auto* nested = llvm::dyn_cast<clang::CXXRecordDecl>(&inner)) {
        if (nested->isThisDeclarationADefinition()) thin_out(file, *nested, gone);
        continue;
      }
      const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&inner);
      if (!function || has_device_attribute(*function) || function->isConstexpr() ||
          function->isDefaulted() || function->isDeleted())
        continue;
      if (file_of(member->getBeginLoc()) != &file) continue;
      size_t begin = first_at(tokens, begin_offset(member->getBeginLoc()));
      size_t end = past(tokens, end_offset(member->getEndLoc()));
      if (begin >= end || tokens[begin].begin == tokens[end - 1].begin) continue;  // from one macro
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
      bool needs_std = false;
      for (size_t i = begin; i < body; ++i)
        needs_std |= tokens[i].identifier && tokens[i].identifier->isStr("std");
      size_t from = needs_std ? begin : body;
      if (from >= end) continue;
      blank(file, from, end, gone);
      gone[tokens[from].begin] = 2;
    }
  }

  // Inside a blanked range, conditionals and macro definitions go on holding.
  static void spare_directives(llvm::StringRef text, std::vector<char>& gone) {
    size_t line = 0;
    while (line < text.size()) {
      size_t end = line;
      // A directive goes on after a backslash at the line's end.
      while (true) {
        size_t stop = text.find('\n', end);
        if (stop == llvm::StringRef::npos) stop = text.size();
        bool more = stop > end && (text[stop - 1] == '\\' ||
                                   (stop > end + 1 && text[stop - 1] == '\r' && text[stop - 2] == '\\'));
        end = std::min(stop + 1, text.size());
        if (!more || end >= text.size()) break;
      }
      llvm::StringRef content = text.slice(line, end).ltrim(" \t");
      if (content.consume_front("#")) {
        content = content.ltrim(" \t");
        bool spared = content.starts_with("if") || content.starts_with("el") ||
                      content.starts_with("endif") || content.starts_with("define") ||
                      content.starts_with("undef");
        if (spared)
          std::fill(gone.begin() + line, gone.begin() + end, 0);
        else
          for (size_t i = line; i < end; ++i)
            if (std::find(gone.begin() + line, gone.begin() + end, 1) != gone.begin() + end) gone[i] = 1;
        line = end;
      } else {
        size_t stop = text.find('\n', line);
        line = stop == llvm::StringRef::npos ? text.size() : stop + 1;
      }
    }
  }

  clang::ASTContext& m_context;
  const clang::SourceManager& m_sources;
  std::map<clang::FileID, File> m_files;
};

// How a template argument is written in a name expression.
clang::PrintingPolicy expression_policy(const clang::ASTContext& context) {
  clang::PrintingPolicy policy(context.getLangOpts());
  policy.SuppressTagKeyword = true;
  policy.SuppressUnwrittenScope = true;
  policy.FullyQualifiedName = true;
  policy.PrintAsCanonical = true;
  policy.Bool = true;
  policy.MSVCFormatting = false;
  return policy;
}

std::string kernel_name(const clang::FunctionDecl& function) {
  std::string text;
  llvm::raw_string_ostream out(text);
  function.getNameForDiagnostic(out, expression_policy(function.getASTContext()), /*Qualified=*/true);
  return text;
}

std::string mangled_name(clang::ASTContext& context, const clang::NamedDecl& decl) {
  std::unique_ptr<clang::MangleContext> mangler(
      clang::ItaniumMangleContext::create(context, context.getDiagnostics()));
  if (!mangler->shouldMangleDeclName(&decl)) return decl.getNameAsString();
  std::string text;
  llvm::raw_string_ostream out(text);
  if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&decl))
    mangler->mangleName(clang::GlobalDecl(function, clang::KernelReferenceKind::Kernel), out);
  else
    mangler->mangleName(llvm::cast<clang::VarDecl>(&decl), out);
  return text;
}

}  // namespace

bool is_user_file(const clang::SourceManager& sources, clang::SourceLocation location) {
  location = sources.getExpansionLoc(location);
  if (location.isInvalid()) return false;
  clang::FileID id = sources.getFileID(location);
  if (sources.isLoadedFileID(id)) return false;  // of a precompiled prelude
  if (clang::SrcMgr::isSystem(sources.getFileCharacteristic(location))) return false;
  return sources.getFileEntryRefForID(id).has_value();
}

bool is_device_only(const clang::Decl& decl) {
  const clang::Decl& inner = templated(decl);
  if (inner.hasAttr<clang::CUDAGlobalAttr>()) return true;
  return inner.hasAttr<clang::CUDADeviceAttr>() && !inner.hasAttr<clang::CUDAHostAttr>();
}

class TokenRecorder::Callbacks final : public clang::PPCallbacks {
 public:
  explicit Callbacks(TokenRecorder& recorder) : m_recorder(recorder) {}

  // A file that holds macros alone gives no token, but the device needs it all the same.
  void FileChanged(clang::SourceLocation place, FileChangeReason reason, clang::SrcMgr::CharacteristicKind,
                   clang::FileID) override {
    if (reason != EnterFile) return;
    clang::FileID id = m_recorder.m_preprocessor.getSourceManager().getFileID(place);
    m_recorder.file_of(id, place);
  }
  void InclusionDirective(clang::SourceLocation, const clang::Token&, llvm::StringRef name, bool,
                          clang::CharSourceRange, clang::OptionalFileEntryRef file, llvm::StringRef,
                          llvm::StringRef, const clang::Module*, bool,
                          clang::SrcMgr::CharacteristicKind) override {
    if (file) m_recorder.m_included_as[file->getName().str()].insert(name.str());
  }
  void MacroExpands(const clang::Token& name, const clang::MacroDefinition&, clang::SourceRange,
                    const clang::MacroArgs*) override {
    const clang::IdentifierInfo* identifier = name.getIdentifierInfo();
    if (identifier && (identifier->isStr("__TIME__") || identifier->isStr("__DATE__") ||
                       identifier->isStr("__TIMESTAMP__")))
      m_recorder.m_volatile = true;
  }

 private:
  TokenRecorder& m_recorder;
};

TokenRecorder::TokenRecorder(clang::Preprocessor& preprocessor) : m_preprocessor(preprocessor) {
  preprocessor.addPPCallbacks(std::make_unique<Callbacks>(*this));
  preprocessor.setTokenWatcher([this](const clang::Token& token) { record(token); });
}

TokenRecorder::File* TokenRecorder::file_of(clang::FileID id, clang::SourceLocation place) {
  const clang::SourceManager& sources = m_preprocessor.getSourceManager();
  if (!is_user_file(sources, place)) return nullptr;
  File& file = m_files[id];
  if (file.path.empty()) file.path = sources.getFileEntryRefForID(id)->getName().str();
  return &file;
}

void TokenRecorder::record(const clang::Token& token) {
  if (token.isAnnotation() || token.is(clang::tok::eof)) return;
  const clang::SourceManager& sources = m_preprocessor.getSourceManager();
  clang::SourceLocation begin = token.getLocation();
  clang::SourceLocation place = sources.getExpansionLoc(begin);
  clang::FileID id = sources.getFileID(place);
  if (id != m_last) {
    m_last = id;
    m_file = file_of(id, place);
  }
  if (!m_file) return;
  Token recorded;
  recorded.begin = sources.getFileOffset(place);
  recorded.kind = token.getKind();
  recorded.identifier = token.isLiteral() ? nullptr : token.getIdentifierInfo();
  if (begin.isMacroID()) {
    clang::CharSourceRange range = sources.getExpansionRange(begin);
    uint32_t last = sources.getFileOffset(range.getEnd());
    uint32_t length = range.isTokenRange() ? clang::Lexer::MeasureTokenLength(range.getEnd(), sources,
                                                                              m_preprocessor.getLangOpts())
                                           : 0;
    recorded.end = last + length;
  } else {
    recorded.end = recorded.begin + token.getLength();
  }
  m_file->tokens.push_back(recorded);
}

void list_device_entities(clang::ASTContext& context, DeviceSlice& slice) {
  const clang::SourceManager& sources = context.getSourceManager();
  std::map<std::string, int> overloads;
  auto add_kernel = [&](const clang::FunctionDecl* function) {
    KernelUse kernel;
    kernel.function = function;
    kernel.name = kernel_name(*function);
    kernel.mangled = mangled_name(context, *function);
    kernel.extern_c = function->isExternC();
    ++overloads[kernel.name];
    slice.kernels.push_back(std::move(kernel));
  };
  for_each_decl(context.getTranslationUnitDecl(), sources, [&](clang::Decl* decl) {
    if (auto* pattern = llvm::dyn_cast<clang::FunctionTemplateDecl>(decl)) {
      if (!pattern->getTemplatedDecl()->hasAttr<clang::CUDAGlobalAttr>()) return;
      if (pattern != pattern->getCanonicalDecl()) return;
      for (const clang::FunctionDecl* special : pattern->specializations())
        if (!special->isDependentContext() &&
            (special->isUsed() || special->isReferenced() || special->isDefined()))
          add_kernel(special);
    } else if (auto* function = llvm::dyn_cast<clang::FunctionDecl>(decl)) {
      if (function->hasAttr<clang::CUDAGlobalAttr>() && function->isThisDeclarationADefinition() &&
          !function->isTemplateInstantiation() &&
          function->getTemplateSpecializationKind() != clang::TSK_ExplicitSpecialization)
        add_kernel(function);
    } else if (auto* variable = llvm::dyn_cast<clang::VarDecl>(decl)) {
      bool constant = variable->hasAttr<clang::CUDAConstantAttr>();
      bool managed = is_managed(*variable);
      if (!(constant || managed || variable->hasAttr<clang::CUDADeviceAttr>())) return;
      if (variable->isThisDeclarationADefinition() == clang::VarDecl::DeclarationOnly) return;
      if (variable->getType()->isDependentType() || !variable->getType()->isObjectType()) return;
      DeviceVariable entry;
      entry.variable = variable;
      entry.name = "::" + qualified_name(*variable);
      entry.mangled = mangled_name(context, *variable);
      entry.constant = constant;
      entry.managed = managed;
      entry.bytes = variable->getType()->isIncompleteType()
                        ? 0
                        : context.getTypeSizeInChars(variable->getType()).getQuantity();
      slice.variables.push_back(std::move(entry));
    }
  });
  for (KernelUse& kernel : slice.kernels) kernel.overloaded = overloads[kernel.name] > 1;
}

void slice_texts(clang::ASTContext& context, const clang::Preprocessor& preprocessor,
                 const TokenRecorder& tokens, DeviceSlice& slice) {
  const clang::SourceManager& sources = context.getSourceManager();
  Splitter splitter(context, tokens);
  splitter.run(slice);
  // A header that was included several times keeps what any of its inclusions keeps.
  std::map<std::string, std::vector<char>> masks;
  std::map<std::string, llvm::StringRef> texts;
  for (const auto& [id, recorded] : tokens.files()) {
    llvm::StringRef text = sources.getBufferData(id);
    std::vector<char> mask = splitter.mask(id, text);
    auto [known, fresh] = masks.emplace(recorded.path, mask);
    if (!fresh)
      for (size_t i = 0; i < mask.size(); ++i) known->second[i] = std::min(known->second[i], mask[i]);
    texts[recorded.path] = text;
    slice.host_texts.push_back({recorded.path, splitter.host_text(id, text)});
    if (id == sources.getMainFileID()) slice.main_file = user_name(recorded.path);
  }
  for (const auto& [path, mask] : masks) {
    std::string text = texts[path].str();
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] && text[i] != '\n' && text[i] != '\r') text[i] = mask[i] == 2 ? ';' : ' ';
    slice.files.push_back({user_name(path), std::move(text)});
  }
}

}  // namespace tarsia::jit
