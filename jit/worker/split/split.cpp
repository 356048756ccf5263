// The split: which parts of a CUDA source the device's compiler needs.
//
// NVRTC takes neither host-only code nor the standard library, so it gets a slice: the user's files at
// their original lines and columns, in which everything that only the host needs is blanked out. Kernels,
// device variables and the device functions of the user's own text stay. All else stays if something that
// stays names it: types, constants, aliases, constexpr functions, and the device functions and classes of
// headers on disk (split_closure.h). The closure goes by identifiers, not by resolved references. The host's
// parse steps over device bodies, which may hold text that never parses as host code, so only their tokens
// are known. Where a function of the host takes a reference to a class, the class stays as a declaration. A
// specialisation stays only if the types that it is for do. A name reaches only into namespaces that are open
// where it stands. Names keep too much now and then (a type that is called like a local variable), and never
// too little. Declarations that stay for their name alone are listed as doubts. If the device's compiler
// stumbles over one, it is left out after all (device_job.cpp). Headers of which nothing stays, and nobody
// needs a macro, are left out with their includes (split_headers.h).
//
// Directives stay wherever they stand, so that the device's own preprocessing (__CUDA_ARCH__) sees what it
// would see under nvcc (split_regions.cpp).
#include "jit/worker/split/split.h"

#include <algorithm>
#include <set>

#include "base/demangle.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/AST/Mangle.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/split/device_text.h"
#include "jit/worker/split/header_items.h"
#include "jit/worker/split/split_closure.h"
#include "jit/worker/split/split_headers.h"
#include "jit/worker/split/split_items.h"
#include "jit/worker/split/token_recorder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

namespace tarsia::jit {
namespace {

using Item = SplitItem;
using File = SplitFile;

std::string plain(llvm::StringRef path) {
  llvm::SmallString<256> text(path);
  llvm::sys::path::remove_dots(text, /*remove_dot_dot=*/true);
  return std::string(text);
}

}  // namespace

struct Slicer::Impl {
  Impl(clang::ASTContext& ast, TokenRecorder& recorder, bool has_columns)
      : context(ast),
        sources(ast.getSourceManager()),
        tokens(recorder),
        columns(has_columns),
        items(ast, recorder) {}

  void read(clang::FileID open);
  void slice(DeviceSlice& slice, size_t main_size);
  bool has_variables_in_headers() const;
  std::string take_headers(clang::ASTWriter& writer);
  void adopt(FilesOfHeaders headers);

  // The main file, then the others in order of inclusion, those of a precompiled form first.
  std::vector<clang::FileID> in_order() const {
    std::vector<clang::FileID> all = {sources.getMainFileID()};
    for (const auto& [id, file] : items.files())
      if (id != all.front()) all.push_back(id);
    return all;
  }

  // Of each namespace in which something is kept, or that something names, a file that opens it.
  std::set<clang::FileID> openers() {
    std::map<const clang::NamespaceDecl*, clang::FileID> by_space;
    for (clang::FileID id : in_order())
      for (const SplitSpace& one : items.files().at(id).spaces)
        if (closure.opened().contains(one.space) && (is_of_use(id) || !by_space.contains(one.space)))
          by_space[one.space] = id;
    std::set<clang::FileID> all;
    for (auto [space, id] : by_space) all.insert(id);
    return all;
  }

  // Whether something of the file is kept, or all of it because it is the request's.
  bool is_of_use(clang::FileID id) {
    const File& file = items.files().at(id);
    return file.own || closure.keeps_some_of(file);
  }

  llvm::StringRef text_of(clang::FileID id) const { return sources.getBufferData(id); }

  // What is left of a file for the device. A header that was included several times keeps everything that one
  // of its inclusions keeps.
  std::string device_text(const std::string& path, Words& words) {
    std::string merged;
    std::vector<Inclusion> inclusions;
    for (clang::FileID id : ids.at(path)) {
      const File& file = items.files().at(id);
      inclusions.push_back({&tokens.files().at(id), conditions_of_host(file)});
      const std::string one = mask(file, text_of(id), words);
      if (merged.empty()) merged = one;
      for (size_t i = 0; i < merged.size(); ++i)
        if (!one[i]) merged[i] = '\0';
    }
    return text_under(merged, text_of(ids.at(path).back()), inclusions, words);
  }

  // The conditions of a header on disk that mean the same on both sides, or shall do so, as [first, last)
  // bytes behind the "#".
  static Ranges conditions_of_host(const File& file) {
    Ranges all;
    if (file.own) return all;
    for (const FileRegions::Directive& directive : file.regions.directives)
      if (directive.of_host || hides_stubs(file, directive)) all.emplace_back(directive.word, directive.end);
    return all;
  }

  // Whether a region keeps functions of the host from NVRTC that the slice needs as stubs: CUTLASS's makers
  // of TMA descriptors, whose types its collectives ask for.
  static bool hides_stubs(const File& file, const FileRegions::Directive& directive) {
    const auto group = std::ranges::find(file.regions.of_nvrtc, directive.begin, &Ranges::value_type::first);
    if (group == file.regions.of_nvrtc.end()) return false;
    return std::ranges::any_of(file.items, [&](const Item& item) {
      return item.kept && item.callable && item.use == Item::host && item.end > item.begin &&
             item.end <= file.tokens->size() && (*file.tokens)[item.begin].begin >= group->first &&
             (*file.tokens)[item.end - 1].end <= group->second;
    });
  }

  // `size`: of the text in the file's buffer.
  std::shared_ptr<const HostText> host_text_of(clang::FileID id, size_t size) const {
    auto host = std::make_shared<HostText>();
    host->name = tokens.files().at(id).path;
    host->text = host_text(items.files().at(id), text_of(id));
    host->text.resize(size);
    std::string counted = host->text;
    if (!columns) std::erase(counted, k_device_byte);
    host->digest = Hasher("tarsia host text").field(host->name).field(counted).finish();
    return host;
  }

  void find_roots(const DeviceSlice& slice);
  void refuse_methods(DeviceSlice& slice);

  void list_doubts(clang::FileID id, const std::string& name, std::vector<Doubt>& doubts) {
    const File& file = items.files().at(id);
    for (const Item& item : file.items) {
      if (!item.kept || item.root || item.nameless) continue;
      Doubt doubt{.file = name};
      uint32_t begin = (*file.tokens)[item.begin].begin, end = begin;
      for (size_t i = item.begin; i < item.end && i < file.tokens->size(); ++i)
        end = std::max(end, (*file.tokens)[i].end);
      doubt.first_line = int(sources.getLineNumber(id, begin));
      doubt.last_line = int(sources.getLineNumber(id, end));
      for (const FileRegions::Directive& directive : file.regions.directives) {
        if (!directive.holds || directive.begin < begin || directive.begin >= end) continue;
        doubt.ranges.emplace_back(begin, directive.begin);
        begin = directive.end;
      }
      if (begin < end) doubt.ranges.emplace_back(begin, end);
      doubts.push_back(std::move(doubt));
    }
  }

  std::shared_ptr<const HostNames> list_host_names(clang::FileID id, const std::string& name) {
    const auto all = std::make_shared<HostNames>();
    HostNames& names = *all;
    const File& file = items.files().at(id);
    for (const Item& item : file.items) {
      if (item.kept || item.nameless || item.use != Item::host || item.begin >= file.tokens->size()) continue;
      for (const clang::IdentifierInfo* one : item.names) {
        // The line of the name itself; attributes and types may stand above it.
        size_t at = item.begin;
        while (at < item.end && at < file.tokens->size() && (*file.tokens)[at].identifier != one) ++at;
        if (at >= item.end || at >= file.tokens->size()) at = item.begin;
        names.push_back({one->getName().str(), item.function, name,
                         int(sources.getLineNumber(id, (*file.tokens)[at].begin))});
      }
    }
    return all;
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

  clang::ASTContext& context;
  const clang::SourceManager& sources;
  TokenRecorder& tokens;
  const bool columns;
  ItemReader items;
  Closure closure;
  std::map<std::string, std::vector<clang::FileID>> ids;  // by path, in order of inclusion
  DefinedMacros defined;
  // Of headers on disk, before anything of them is kept.
  std::map<clang::FileID, std::shared_ptr<const HostText>> host_texts;
  std::map<clang::FileID, std::shared_ptr<const HostNames>> host_names;
  std::shared_ptr<const std::vector<std::string>> words_of_headers;  // of a precompiled form
};

void Slicer::Impl::read(clang::FileID open) {
  std::set<std::string> headers;
  for (clang::FileID id : items.read(open)) {
    File& file = items.files().at(id);
    closure.add(file);
    const std::string& path = tokens.files().at(id).path;
    ids[path].push_back(id);
    if (file.own) continue;
    headers.insert(path);
    host_texts[id] = host_text_of(id, text_of(id).size());
    host_names[id] = list_host_names(id, user_name(path));
  }
  for (const std::string& path : headers) {
    Words words;
    add_defined(path, device_text(path, words), defined);
  }
}

// What the device needs in any case, and what that needs.
void Slicer::Impl::find_roots(const DeviceSlice& slice) {
  for (auto& [id, file] : items.files()) {
    for (Item& item : file.items)
      if (item.root) closure.keep(item);
    for (auto [name, space] : file.unseen) {
      closure.open(space);
      closure.see(name);
    }
  }
  // Only the host names the types in kernels' template arguments.
  for (const KernelUse& kernel : slice.kernels)
    for (const std::string& word : words(kernel.name))
      if (auto found = context.Idents.find(word); found != context.Idents.end()) closure.see(found->second);
  closure.run();
}

bool Slicer::Impl::has_variables_in_headers() const {
  return std::ranges::any_of(items.files(), [](const auto& one) {
    return !one.second.own && std::ranges::any_of(one.second.items, &Item::variable);
  });
}

std::string Slicer::Impl::take_headers(clang::ASTWriter& writer) {
  FilesOfHeaders headers;
  for (auto& [id, file] : items.files())
    if (!file.own)
      headers.files.push_back(
          {id, tokens.files().at(id), std::move(file), host_texts.at(id), host_names.at(id)});
  headers.defined = std::move(defined);
  headers.device_macros = items.macros_of_headers();
  return headers.write(context, writer);
}

void Slicer::Impl::adopt(FilesOfHeaders headers) {
  for (FilesOfHeaders::One& one : headers.files) {
    TokenRecorder::File& recorded = tokens.adopt(one.id, std::move(one.recorded));
    File& file = items.adopt(one.id, std::move(one.items));
    file.tokens = &recorded.tokens;
    closure.add(file);
    ids[recorded.path].push_back(one.id);
    host_texts[one.id] = std::move(one.host_text);
    host_names[one.id] = std::move(one.host_names);
  }
  defined.merge(headers.defined);
  items.adopt_macros(headers.device_macros);
  words_of_headers = std::move(headers.words);
}

// A call of a host's member function is an error in device code, as it is to nvcc: the body names what nobody
// has, and ptxas stumbles over it where code of it is made. The declaration stays, for code may ask for it
// (decltype, concepts). If a function of both sides calls it, its body is a trap: the device may never make
// that call. Constructors and destructors are declared alone, as their members may need initialisers.
void Slicer::Impl::refuse_methods(DeviceSlice& slice) {
  std::set<DeclKey> called;
  std::set<clang::DeclarationName> names;
  bool conversions = false;
  for (const auto& [id, file] : items.files())
    for (const Item& item : file.items) {
      if (!item.kept || item.only_declared) continue;
      called.insert(item.called_methods.begin(), item.called_methods.end());
      conversions |= item.calls_conversions;
      names.insert(item.called_names.begin(), item.called_names.end());
      for (clang::OverloadedOperatorKind kind : item.called_operators)
        names.insert(context.DeclarationNames.getCXXOperatorName(kind));
    }
  clang::ASTNameGenerator symbols(context);
  for (clang::FileID id : in_order())
    for (Item& item : items.files().at(id).items)
      for (SplitCut& cut : item.cuts) {
        if (!item.kept || item.only_declared || !cut.method) continue;
        const auto* method = llvm::cast<clang::FunctionDecl>(decl_of(cut.method, context));
        const bool is_body = cut.instead == SplitCut::words;
        if (is_body && (called.contains(cut.method) || names.contains(method->getDeclName()) ||
                        (conversions && llvm::isa<clang::CXXConversionDecl>(method))))
          continue;
        const std::string name = method->getQualifiedNameAsString();
        if (is_body) cut.text = "{asm volatile(\"call " + refused_symbol(name) + ";\");for(;;);}";
        const clang::SourceLocation place = sources.getExpansionLoc(method->getLocation());
        HostName& refused = slice.refused.emplace_back(HostName{
            name, true, user_name(tokens.files().at(id).path), int(sources.getExpansionLineNumber(place))});
        if (!is_body && !method->isDependentContext())
          refused.symbol = readable_symbol(symbols.getName(method));
      }
}

void Slicer::Impl::slice(DeviceSlice& slice, size_t main_size) {
  find_roots(slice);
  refuse_methods(slice);
  slice.words_of_headers = words_of_headers;
  const clang::FileID main = sources.getMainFileID();
  const std::set<clang::FileID> openers = this->openers();
  std::map<std::string, SlicedHeader> headers;
  for (clang::FileID id : in_order()) {
    const TokenRecorder::File& recorded = tokens.files().at(id);
    const File& file = items.files().at(id);
    SlicedHeader& header = headers[recorded.path];
    const bool first = header.entered == 0;
    header.of_use |= is_of_use(id) || openers.contains(id);
    header.main |= id == main;
    header.again |= header.entered++ > 0;
    for (const auto& [at, included] : recorded.included) {
      const auto holds = [at = at](const auto& range) { return range.first <= at && at < range.second; };
      header.includes.push_back(
          {at, included.name, included.path, std::ranges::any_of(file.regions.of_nvrtc, holds)});
    }
    if (header.main) slice.main_file = user_name(recorded.path);
    const auto known_text = host_texts.find(id);
    slice.host_texts.push_back(known_text != host_texts.end()
                                   ? known_text->second
                                   : host_text_of(id, id == main ? main_size : text_of(id).size()));
    if (!first) continue;
    const auto known_names = host_names.find(id);
    slice.host_names.push_back(known_names != host_names.end() && !closure.keeps_some_of(file)
                                   ? known_names->second
                                   : list_host_names(id, user_name(recorded.path)));
  }
  // One file may be named in several ways.
  std::map<std::string, std::string> by_place;
  for (const auto& [path, header] : headers) by_place.emplace(plain(path), path);
  for (auto& [path, header] : headers)
    for (SlicedHeader::Include& one : header.includes)
      if (auto found = by_place.find(plain(one.path)); found != by_place.end()) one.path = found->second;
  const auto load = [&](const std::string& path, SlicedHeader& header) {
    header.text = device_text(path, header.words);
    if (header.main) header.text.resize(main_size);
  };
  for (auto& [path, header] : headers)
    if (ids.contains(path) && items.files().at(ids.at(path).front()).own) {
      header.of_use = true;
      load(path, header);
      add_defined(path, header.text, defined);
    }
  leave_out_idle_headers(headers, defined, load);
  for (auto& [path, header] : headers) {
    if (!header.needed) continue;
    std::vector<Doubt> doubts;
    if (!header.again) list_doubts(ids.at(path).front(), user_name(path), doubts);
    put_words(header.text, header.words, doubts);
    slice.takes_from_headers |= !items.files().at(ids.at(path).front()).own;
    slice.files.push_back({user_name(path), std::move(header.text)});
    slice.doubts.insert(slice.doubts.end(), doubts.begin(), doubts.end());
  }
}

Slicer::Slicer(clang::ASTContext& context, TokenRecorder& tokens, bool columns)
    : m_impl(std::make_unique<Impl>(context, tokens, columns)) {}

Slicer::~Slicer() = default;

void Slicer::read_headers() {
  m_impl->read(m_impl->sources.getMainFileID());
}

bool Slicer::can_take_headers() const {
  return !m_impl->has_variables_in_headers();
}

std::string Slicer::take_headers(clang::ASTWriter& writer) {
  return m_impl->take_headers(writer);
}

bool Slicer::adopt_headers(std::string_view bytes, clang::ASTReader& reader) {
  auto headers = FilesOfHeaders::read(bytes, m_impl->context, reader);
  if (headers) m_impl->adopt(std::move(*headers));
  return headers.has_value();
}

void Slicer::slice(DeviceSlice& slice, size_t main_size) {
  m_impl->read({});
  m_impl->slice(slice, main_size);
}

std::vector<clang::SourceLocation> Slicer::openmp_in_bodies() const {
  std::vector<clang::SourceLocation> places;
  for (const auto& [id, recorded] : m_impl->tokens.files()) {
    const auto file = m_impl->items.files().find(id);
    if (file == m_impl->items.files().end()) continue;
    for (const size_t at : recorded.openmp)
      if (std::ranges::any_of(file->second.items, [&](const SplitItem& item) {
            return std::ranges::any_of(
                item.bodies, [&](const auto& body) { return body.first <= at && at < body.second; });
          }))
        places.push_back(m_impl->sources.getComposedLoc(id, recorded.tokens[at].begin));
  }
  return places;
}

std::string refused_symbol(const std::string& name) {
  std::string symbol = k_refused_prefix + name;
  for (char& c : symbol)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return symbol;
}

bool has_device_attribute(const clang::Decl& decl) {
  // Clang itself marks constexpr functions, so that constant expressions of both sides may call them.
  const auto has = [](const clang::Attr* attribute) { return attribute && !attribute->isImplicit(); };
  return has(decl.getAttr<clang::CUDAGlobalAttr>()) || has(decl.getAttr<clang::CUDADeviceAttr>()) ||
         has(decl.getAttr<clang::CUDAConstantAttr>()) || has(decl.getAttr<clang::CUDASharedAttr>());
}

const clang::Decl& templated(const clang::Decl& decl) {
  if (const auto* pattern = llvm::dyn_cast<clang::TemplateDecl>(&decl))
    if (pattern->getTemplatedDecl()) return *pattern->getTemplatedDecl();
  return decl;
}

bool is_device_only(const clang::Decl& decl) {
  const clang::Decl& inner = templated(decl);
  if (inner.hasAttr<clang::CUDAGlobalAttr>()) return true;
  return inner.hasAttr<clang::CUDADeviceAttr>() && !inner.hasAttr<clang::CUDAHostAttr>();
}

}  // namespace tarsia::jit
