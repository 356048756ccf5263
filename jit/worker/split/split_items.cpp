// Which tokens belong to which declaration, what the device may need of it, and what the device must not see.
#include "jit/worker/split/split_items.h"

#include <iterator>
#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclCXX.h"
#include "clang/AST/DeclFriend.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/source/source_fs.h"
#include "jit/worker/split/host_cuts.h"
#include "jit/worker/split/host_types.h"
#include "jit/worker/split/item_calls.h"
#include "jit/worker/split/item_joins.h"
#include "jit/worker/split/split.h"

namespace tarsia::jit {
namespace {

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

struct FileInWork : SplitFile {
  clang::FileID id;
  std::vector<std::pair<size_t, size_t>> opened;  // namespaces and linkage blocks: their token ranges
  llvm::StringRef text;
  const Ranges* skipped = nullptr;
  std::set<const clang::IdentifierInfo*> asked;  // in the brackets behind decltype
};

std::set<const clang::IdentifierInfo*> names_in_decltype(const Tokens& tokens) {
  std::set<const clang::IdentifierInfo*> names;
  for_each_in_decltype(tokens, 0, tokens.size(), [&](size_t i) {
    if (tokens[i].identifier) names.insert(tokens[i].identifier);
  });
  return names;
}

}  // namespace

class ItemReader::Impl {
 public:
  Impl(clang::ASTContext& context, const TokenRecorder& recorder)
      : m_context(context),
        m_sources(context.getSourceManager()),
        m_recorder(recorder),
        m_host_types(context) {}

  std::vector<clang::FileID> read(clang::FileID open) {
    for (const auto& [id, recorded] : m_recorder.files()) {
      if (id == open || m_complete.contains(id)) continue;
      FileInWork& file = m_files[id];
      file.id = id;
      file.tokens = &recorded.tokens;
      file.asked = names_in_decltype(recorded.tokens);
      file.own = llvm::StringRef(recorded.path).starts_with(k_source_dir);
      file.text = m_sources.getBufferData(id);
      file.skipped = &recorded.skipped;
    }
    read_regions_of_files();
    const clang::TranslationUnitDecl* unit = m_context.getTranslationUnitDecl();
    const clang::Decl* next = m_last ? m_last->getNextDeclInContext() : *unit->noload_decls_begin();
    for (; next; next = next->getNextDeclInContext()) {
      collect(*next);
      m_last = next;
    }
    std::vector<clang::FileID> added;
    for (auto& [id, file] : m_files) {  // those that include others come before them
      merge_items(file.items, *file.tokens);
      adopt_inner(file);
      adopt_unseen_names(file);
      add_gaps(file.items, *file.tokens, file.opened);
      std::ranges::move(m_unseen_regions[&file], std::back_inserter(file.items));
      m_complete.emplace(id, std::move(file));
      added.push_back(id);
    }
    m_unseen_regions.clear();
    m_files.clear();
    return added;
  }

  SplitFile& adopt(clang::FileID id, SplitFile file) {
    return m_complete.insert_or_assign(id, std::move(file)).first->second;
  }

  std::map<clang::FileID, SplitFile>& files() { return m_complete; }
  const DeviceMacros::Names& macros_of_headers() const { return m_header_macros.names(); }
  void adopt_macros(const DeviceMacros::Names& names) {
    m_header_macros.add_names(names);
    m_macros.add_names(names);
  }

 private:
  // A header's regions are what they are under every text that includes it.
  void read_regions_of_files() {
    for (auto& [id, file] : m_files) {
      if (!file.own) m_header_macros.add(file.text);
      m_macros.add(file.text);
    }
    m_header_macros.find();
    m_macros.find();
    for (auto& [id, file] : m_files)
      file.regions = read_regions(file.text, *file.skipped, file.own ? m_macros : m_header_macros,
                                  m_context.getLangOpts());
  }

  FileInWork* file_of(clang::SourceLocation location) {
    auto found = m_files.find(m_sources.getFileID(m_sources.getExpansionLoc(location)));
    return found == m_files.end() ? nullptr : &found->second;
  }

  // Of a file that was adopted, too.
  bool is_users(clang::SourceLocation location) const {
    return is_user_file(m_sources, location) ||
           m_complete.contains(m_sources.getFileID(m_sources.getExpansionLoc(location)));
  }

  uint32_t begin_offset(clang::SourceLocation location) const {
    return m_sources.getFileOffset(m_sources.getExpansionLoc(location));
  }

  uint32_t end_offset(clang::SourceLocation location) const {
    return m_sources.getFileOffset(m_sources.getExpansionRange(location).getEnd());
  }

  void collect(const clang::Decl& decl) {
    if (decl.isImplicit() || !is_user_file(m_sources, decl.getLocation())) return;
    FileInWork* file = file_of(decl.getBeginLoc());
    if (!file) return;
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(&decl)) {
      open(*file, space->getBeginLoc(), space->getRBraceLoc());
      file->spaces.push_back(
          {begin_offset(space->getBeginLoc()), begin_offset(space->getRBraceLoc()), named_space(space)});
      for (const clang::Decl* inner : space->noload_decls()) collect(*inner);
    } else if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(&decl);
               linkage && linkage->hasBraces()) {
      open(*file, linkage->getBeginLoc(), linkage->getRBraceLoc());
      for (const clang::Decl* inner : linkage->noload_decls()) collect(*inner);
    } else {
      add(*file, decl);
    }
  }

  // The tokens that open and close a namespace belong to no item.
  void open(FileInWork& file, clang::SourceLocation begin, clang::SourceLocation end) {
    const Tokens& tokens = *file.tokens;
    size_t at = first_at(tokens, begin_offset(begin));
    size_t brace = at;
    while (brace < tokens.size() && tokens[brace].kind != clang::tok::l_brace) ++brace;
    file.opened.emplace_back(at, with_macro(tokens, brace));
    size_t close = first_at(tokens, begin_offset(end));
    file.opened.emplace_back(close, with_macro(tokens, close));
  }

  void add(FileInWork& file, const clang::Decl& decl) {
    const Tokens& tokens = *file.tokens;
    Item item;
    item.begin = first_at(tokens, begin_offset(decl.getBeginLoc()));
    item.end = past(tokens, end_offset(decl.getEndLoc()));
    if (item.begin >= tokens.size()) return;
    item.end = closed(tokens, item.begin, std::max(item.end, item.begin + 1));
    item.space = named_space(decl.getLexicalDeclContext());
    std::vector<const clang::CXXRecordDecl*> records;
    describe(file, decl, item, records);
    HostCuts cuts(m_context, m_host_types, file.id, tokens);
    const clang::Decl* inner = &templated(decl);
    if (const auto* linkage = llvm::dyn_cast<clang::LinkageSpecDecl>(inner))
      for (const clang::Decl* child : linkage->decls()) {
        describe(file, *child, item, records);
        inner = &templated(*child);
      }
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(inner)) {
      // Nor does a template's include "= delete".
      if (function->isDeletedAsWritten() && item.end < tokens.size() &&
          tokens[item.end].kind == clang::tok::equal)
        while (item.end < tokens.size() && tokens[item.end].kind != clang::tok::semi) ++item.end;
      // A declaration's range does not include a body that was skipped.
      if (stepped_over(*function)) {
        item.end = skip_body(tokens, item.end);
        item.bodies.emplace_back(body_in(tokens, *function, item), item.end);
      } else if (item.use == Item::host) {
        cuts.cut_function(*function, item);
      } else if (!has_device_attribute(*function)) {
        cuts.cut_throws(*function, item.cuts);
      }
    }
    for (const clang::CXXRecordDecl* record : records) {
      add_bodies(file, *record, item.bodies);
      cuts.cut_members(*record, item);
    }
    if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(inner)) {
      if (record->isThisDeclarationADefinition()) item.declaration = cuts.declaration_of(*record);
      if (item.declaration || !record->isThisDeclarationADefinition()) item.at_glance = Item::declares;
      if (const auto* special = llvm::dyn_cast<clang::ClassTemplateSpecializationDecl>(record)) {
        item.at_glance = Item::ignores;
        list_argument_types(special->getTemplateArgsAsWritten(), item);
      }
    } else if (llvm::isa<clang::UsingDecl>(inner)) {
      item.at_glance = Item::declares;
    } else if (llvm::isa<clang::FunctionDecl, clang::VarDecl>(inner)) {
      item.at_glance = Item::ignores;
      if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(inner))
        list_argument_types(function->getTemplateSpecializationArgsAsWritten(), item);
    }
    if (item.end < tokens.size() && tokens[item.end].kind == clang::tok::semi &&
        !has_directive(file.text.slice(tokens[item.end - 1].end, tokens[item.end].begin)))
      ++item.end;
    file.items.push_back(std::move(item));
  }

  // Whether there may be one, as before the semicolon with which a text is ended: no item reaches over it.
  static bool has_directive(llvm::StringRef between) { return between.contains('#'); }

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

  // What a function without a name of its own is found by: the types that it works on, or makes.
  static void name_by_types(const clang::FunctionDecl& function, Item& item) {
    auto add = [&](const clang::NamedDecl* decl) {
      if (decl && decl->getIdentifier()) item.names.push_back(decl->getIdentifier());
      return decl && decl->getIdentifier();
    };
    if (const auto* guide = llvm::dyn_cast<clang::CXXDeductionGuideDecl>(&function)) {
      add(guide->getDeducedTemplate());
      return;
    }
    bool any = false;
    for (const clang::ParmVarDecl* parameter : function.parameters()) {
      clang::QualType type = parameter->getType().getNonReferenceType();
      while (type->isPointerType()) type = type->getPointeeType();
      if (const auto* alias = type->getAs<clang::TypedefType>(); alias && type->getAsTagDecl())
        any |= add(alias->getDecl());
      if (const auto* dependent = type->getAs<clang::TemplateSpecializationType>())
        any |= add(dependent->getTemplateName().getAsTemplateDecl());
      any |= add(type->getAsTagDecl());
    }
    item.unnamed |= !any;
  }

  // The user's types among the arguments of a specialisation.
  void list_argument_types(const clang::ASTTemplateArgumentListInfo* arguments, Item& item) const {
    if (!arguments) return;
    for (const clang::TemplateArgumentLoc& one : arguments->arguments()) {
      if (one.getArgument().getKind() != clang::TemplateArgument::Type) continue;
      const clang::QualType type = one.getArgument().getAsType();
      const clang::NamedDecl* decl = type->getAsTagDecl();
      if (const auto* special = type->getAs<clang::TemplateSpecializationType>();
          special && !special->isTypeAlias())
        decl = special->getTemplateName().getAsTemplateDecl();
      // A parameter of the specialisation's own stands for any type.
      if (decl && !decl->isTemplateParameter() && decl->getIdentifier() && is_users(decl->getLocation()))
        item.argument_types.push_back(decl->getIdentifier());
    }
  }

  void describe(const FileInWork& file, const clang::Decl& decl, Item& item,
                std::vector<const clang::CXXRecordDecl*>& records) {
    const clang::Decl& inner = templated(decl);
    auto at_least = [&](Item::Use use) { item.use = std::max(item.use, use); };
    if (const auto* named = llvm::dyn_cast<clang::NamedDecl>(&inner))
      if (const clang::IdentifierInfo* name = named->getIdentifier()) item.names.push_back(name);
    if (const auto* function = llvm::dyn_cast<clang::FunctionDecl>(&inner)) {
      item.function = true;
      item.declared.push_back(key_of(function->getCanonicalDecl()));
      if (const clang::IdentifierInfo* name = function->getIdentifier()) item.own_names.push_back(name);
      const bool may_stay = has_device_attribute(*function) || function->isConstexpr();
      if (const auto* method = llvm::dyn_cast<clang::CXXMethodDecl>(function); method && may_stay) {
        if (const clang::IdentifierInfo* name = method->getParent()->getIdentifier())
          item.names.push_back(name);
      } else if (!function->getIdentifier() &&
                 (may_stay || llvm::isa<clang::CXXDeductionGuideDecl>(function))) {
        name_by_types(*function, item);
      }
      add_calls(*function, item);
      item.root |= file.own && has_device_attribute(*function);
      if (has_device_attribute(*function))
        at_least(Item::device);
      else if (((function->isConstexpr() || llvm::isa<clang::CXXDeductionGuideDecl>(function)) &&
                !m_host_types.is_host(*function)) ||
               is_only_asked(file, *function) || is_of_both_to_nvrtc(*function))
        at_least(Item::soft);
    } else if (const auto* variable = llvm::dyn_cast<clang::VarDecl>(&inner)) {
      item.variable |= has_device_attribute(*variable);
      item.root |= item.variable;  // the host may name it
      if (has_device_attribute(*variable))
        at_least(Item::device);
      else if (m_host_types.is_host(variable->getType()))
        at_least(Item::host);
      else if (variable->isConstexpr() ||
               (variable->getType().isConstQualified() && variable->getType()->isScalarType()))
        at_least(Item::soft);
    } else if (const auto* directive = llvm::dyn_cast<clang::UsingDirectiveDecl>(&inner)) {
      const bool host = is_host_directive(*directive);
      item.root |= !host && !item.space;
      item.unnamed |= !host;
      at_least(host ? Item::host : Item::device);
    } else if (const auto* record = llvm::dyn_cast<clang::CXXRecordDecl>(&inner)) {
      const bool defines = record->isThisDeclarationADefinition();
      const bool device = defines && has_device_member(*record);
      if (defines) records.push_back(record);
      if (defines) add_calls(*record, item);
      item.root |= file.own && device;
      at_least(device                                                                    ? Item::device
               : m_host_types.is_host(*record) && !m_host_types.only_holds_host(*record) ? Item::host
                                                                                         : Item::soft);
    } else if (const auto* enumeration = llvm::dyn_cast<clang::EnumDecl>(&inner)) {
      if (!enumeration->isScoped())
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

  // Whether a function is nothing but a trait: it has no body, and its file names it behind decltype.
  bool is_only_asked(const FileInWork& file, const clang::FunctionDecl& function) {
    return function.getIdentifier() && file.asked.contains(function.getIdentifier()) &&
           !function.isDefined() && !m_host_types.is_host(function);
  }

  // Whether a macro makes it a function of the host, and is defined where the device's compiler may see
  // another definition: `#if defined(__CUDACC_RTC__)`, as CuTe's CUTE_HOST_RTC.
  bool is_of_both_to_nvrtc(const clang::FunctionDecl& function) {
    const auto* attribute = function.getAttr<clang::CUDAHostAttr>();
    if (!attribute || attribute->isImplicit() || !function.getIdentifier() ||
        llvm::isa<clang::CXXMethodDecl>(function) || m_host_types.is_host(function))
      return false;
    for (clang::SourceLocation at = attribute->getLocation(); at.isMacroID();
         at = m_sources.getImmediateMacroCallerLoc(at)) {
      const auto [id, offset] = m_sources.getDecomposedLoc(m_sources.getImmediateSpellingLoc(at));
      if (const FileRegions* regions = regions_of(id); regions && regions->is_asking(offset)) return true;
    }
    return false;
  }

  const FileRegions* regions_of(clang::FileID id) const {
    if (const auto found = m_files.find(id); found != m_files.end()) return &found->second.regions;
    const auto found = m_complete.find(id);
    return found == m_complete.end() ? nullptr : &found->second.regions;
  }

  // Bodies of a class's device members.
  void add_bodies(const FileInWork& file, const clang::CXXRecordDecl& record,
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

  // A file that is included amid a declaration, as within a class, is part of it: its tokens are one item,
  // which stays as that declaration does.
  void adopt_inner(FileInWork& file) {
    clang::SourceLocation include = m_sources.getIncludeLoc(file.id);
    if (include.isInvalid() || !file.items.empty() || file.tokens->empty()) return;
    auto found = m_complete.find(m_sources.getFileID(include));
    // What includes it may have nothing but includes.
    while (found != m_complete.end() && found->second.tokens->empty()) {
      include = m_sources.getIncludeLoc(found->first);
      if (include.isInvalid()) return;
      found = m_complete.find(m_sources.getFileID(include));
    }
    if (found == m_complete.end()) return;
    const uint32_t offset = m_sources.getFileOffset(include);
    const Tokens& tokens = *found->second.tokens;
    const auto outer = std::ranges::find_if(found->second.items, [&](const Item& item) {
      return item.inner || (item.begin < item.end && item.end <= tokens.size() &&
                            tokens[item.begin].begin < offset && offset < tokens[item.end - 1].begin);
    });
    if (outer == found->second.items.end()) return;
    Item item;
    item.inner = true;
    item.end = file.tokens->size();
    item.use = outer->use;
    item.root = outer->root;
    item.at_glance = Item::ignores;
    item.unnamed = outer->unnamed;
    item.space = outer->space;
    item.names = outer->names;
    item.argument_types = outer->argument_types;
    file.items.push_back(std::move(item));
  }

  // Names in regions that only the device sees belong to the declaration that holds the region. A region
  // between declarations stays if it is of a text of the request, or if something names what it may declare.
  void adopt_unseen_names(FileInWork& file) {
    const Tokens& tokens = *file.tokens;
    std::map<uint32_t, Item> regions;  // by their ends
    for (const auto& [at, word] : file.regions.names) {
      // A text to come may name what none has named so far.
      const clang::IdentifierInfo* name = &m_context.Idents.get(word);
      auto next = std::upper_bound(
          file.items.begin(), file.items.end(), at,
          [&](uint32_t offset, const Item& item) { return offset < tokens[item.begin].begin; });
      Item* item = next == file.items.begin() ? nullptr : &*std::prev(next);
      const bool inside = item && item->end > item->begin && at < tokens[item->end - 1].end;
      if (inside) {
        item->unseen.push_back(name);
        continue;
      }
      auto range = std::upper_bound(file.skipped->begin(), file.skipped->end(), at,
                                    [](uint32_t offset, const auto& one) { return offset < one.first; });
      if (file.own || range == file.skipped->begin()) {
        file.unseen.emplace_back(name, space_at(file, at));
        continue;
      }
      --range;
      Item& region = regions[range->second];
      region.use = Item::soft;
      region.nameless = true;
      region.space = space_at(file, at);
      region.text_begin = range->first;
      region.text_end = range->second;
      region.unseen.push_back(name);
      if (may_be_declared(file.text, at + word.size())) region.names.push_back(name);
    }
    for (auto& [end, region] : regions) m_unseen_regions[&file].push_back(std::move(region));
  }

  // Whether a name that ends here is followed by what follows a name in its declaration.
  static bool may_be_declared(llvm::StringRef text, size_t end) {
    const size_t at = text.find_first_not_of(" \t\r\n", end);
    return at != text.npos && llvm::StringRef("([{=;:").contains(text[at]);
  }

  static const clang::NamespaceDecl* space_at(const FileInWork& file, uint32_t at) {
    const SplitSpace* innermost = nullptr;
    for (const SplitSpace& one : file.spaces)
      if (one.begin <= at && at < one.end && (!innermost || one.begin >= innermost->begin)) innermost = &one;
    return innermost ? innermost->space : nullptr;
  }

  clang::ASTContext& m_context;
  const clang::SourceManager& m_sources;
  const TokenRecorder& m_recorder;
  HostTypes m_host_types;
  DeviceMacros m_header_macros, m_macros;       // of headers on disk; of all files
  std::map<clang::FileID, FileInWork> m_files;  // that are being read
  std::map<clang::FileID, SplitFile> m_complete;
  const clang::Decl* m_last = nullptr;  // of the unit, that was read
  std::map<const FileInWork*, std::vector<Item>> m_unseen_regions;
};

ItemReader::ItemReader(clang::ASTContext& context, const TokenRecorder& recorder)
    : m_impl(std::make_unique<Impl>(context, recorder)) {}
ItemReader::~ItemReader() = default;
std::vector<clang::FileID> ItemReader::read(clang::FileID open) {
  return m_impl->read(open);
}
SplitFile& ItemReader::adopt(clang::FileID id, SplitFile file) {
  return m_impl->adopt(id, std::move(file));
}
const DeviceMacros::Names& ItemReader::macros_of_headers() const {
  return m_impl->macros_of_headers();
}
void ItemReader::adopt_macros(const DeviceMacros::Names& names) {
  m_impl->adopt_macros(names);
}
std::map<clang::FileID, SplitFile>& ItemReader::files() {
  return m_impl->files();
}
const std::map<clang::FileID, SplitFile>& ItemReader::files() const {
  return m_impl->files();
}

DeclKey key_of(const clang::Decl* decl) {
  // Addresses are even.
  return decl->isFromASTFile() ? decl->getGlobalID().getRawValue() << 1 | 1 : reinterpret_cast<DeclKey>(decl);
}

const clang::Decl* decl_of(DeclKey key, clang::ASTContext& context) {
  return key & 1 ? context.getExternalSource()->GetExternalDecl(clang::GlobalDeclID(key >> 1))
                 : reinterpret_cast<const clang::Decl*>(key);
}

const clang::NamespaceDecl* named_space(const clang::DeclContext* scope) {
  for (; scope; scope = scope->getParent())
    if (const auto* space = llvm::dyn_cast<clang::NamespaceDecl>(scope);
        space && !space->isAnonymousNamespace() && !space->isInline())
      return space->getFirstDecl();
  return nullptr;
}

}  // namespace tarsia::jit
