// The split: which parts of a CUDA source the device's compiler needs.
//
// NVRTC takes neither host-only code nor the standard library, so it gets a slice: the user's files at
// their original lines and columns, in which everything that only the host needs is blanked out. Kernels
// and device functions stay. Types, constants, aliases and constexpr functions stay if something that stays
// names them. The closure goes by identifiers, not by resolved references. The host's parse steps over
// device bodies, which may hold text that never parses as host code, so only their tokens are known. Names
// keep too much now and then (a type that is called like a local variable), and never too little.
// Declarations that stay for their name alone are listed as doubts. If the device's compiler stumbles over
// one, it is left out after all (device_job.cpp).
//
// Directives stay wherever they stand, so that the device's own preprocessing (__CUDA_ARCH__) sees what it
// would see under nvcc (split_regions.cpp).
#include "jit/worker/split/split.h"

#include <algorithm>
#include <deque>
#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/split/split_items.h"
#include "jit/worker/split/token_recorder.h"

namespace tarsia::jit {
namespace {

using Cut = SplitCut;
using Item = SplitItem;
using File = SplitFile;

class Splitter {
 public:
  Splitter(clang::ASTContext& context, const TokenRecorder& recorder, const DeviceSlice& slice)
      : m_context(context), m_sources(context.getSourceManager()), m_files(read_items(context, recorder)) {
    close(slice);
  }

  // The text without what the host steps over.
  std::string host_text(clang::FileID id, llvm::StringRef text) {
    std::string gone(text.size(), '\0');
    File& file = m_files.at(id);
    for (const Item& item : file.items)
      for (auto [begin, end] : item.bodies)
        if (!shares_macro(*file.tokens, begin) && !shares_macro(*file.tokens, end))
          blank(file, begin, end, gone);
    std::string result = text.str();
    for (size_t i = 0; i < gone.size(); ++i)
      if (gone[i] && result[i] != '\n') result[i] = k_device_byte;
    return result;
  }

  // The replacement of each byte of the file; NUL where the byte stays.
  std::string mask(clang::FileID id, llvm::StringRef text) {
    std::string gone(text.size(), '\0');
    File& file = m_files.at(id);
    for (auto [begin, end] : file.regions.dead) std::fill(gone.begin() + begin, gone.begin() + end, ' ');
    for (const Item& item : file.items) {
      if (!item.kept)
        blank(file, item.begin, item.end, gone);
      else
        for (const Cut& cut : item.cuts) apply(file, cut, text, gone);
    }
    // Work-around: NVRTC takes no storage class `register`.
    // Trigger: an old text with `register int i`, which nvcc takes by default. Symptom: an error under all
    // standards that Tarsia asks NVRTC for. Removal: NVRTC takes it, as nvcc does.
    for (const TokenRecorder::Token& token : *file.tokens)
      if (token.kind == clang::tok::kw_register && text.substr(token.begin).starts_with("register"))
        std::fill_n(gone.begin() + token.begin, 8, ' ');
    // Within a blanked range, conditionals and macro definitions stay in force.
    for (const FileRegions::Directive& directive : file.regions.directives) {
      auto begin = gone.begin() + directive.begin, end = gone.begin() + directive.end;
      if (directive.holds)
        std::fill(begin, end, '\0');
      else if (std::find(begin, end, ' ') != end)
        std::fill(begin, end, ' ');
    }
    return gone;
  }

  void list_doubts(clang::FileID id, const std::string& name, std::vector<Doubt>& doubts) {
    File& file = m_files.at(id);
    for (const Item& item : file.items) {
      if (!item.kept || item.use == Item::device || item.nameless) continue;
      Doubt doubt{.file = name};
      uint32_t begin = (*file.tokens)[item.begin].begin, end = begin;
      for (size_t i = item.begin; i < item.end && i < file.tokens->size(); ++i)
        end = std::max(end, (*file.tokens)[i].end);
      doubt.first_line = int(m_sources.getLineNumber(id, begin));
      doubt.last_line = int(m_sources.getLineNumber(id, end));
      for (const FileRegions::Directive& directive : file.regions.directives) {
        if (!directive.holds || directive.begin < begin || directive.begin >= end) continue;
        doubt.ranges.emplace_back(begin, directive.begin);
        begin = directive.end;
      }
      if (begin < end) doubt.ranges.emplace_back(begin, end);
      doubts.push_back(std::move(doubt));
    }
  }

  void list_host_names(clang::FileID id, const std::string& name, std::vector<HostName>& names) {
    File& file = m_files.at(id);
    for (const Item& item : file.items) {
      if (item.kept || item.nameless || item.use != Item::host || item.begin >= file.tokens->size()) continue;
      for (const clang::IdentifierInfo* one : item.names) {
        // The line of the name itself; attributes and types may stand above it.
        size_t at = item.begin;
        while (at < item.end && at < file.tokens->size() && (*file.tokens)[at].identifier != one) ++at;
        if (at >= item.end || at >= file.tokens->size()) at = item.begin;
        names.push_back({one->getName().str(), item.function, name,
                         int(m_sources.getLineNumber(id, (*file.tokens)[at].begin))});
      }
    }
  }

 private:
  // Whether one macro makes both this token and the one before it: they share a place in the text.
  static bool shares_macro(const Tokens& tokens, size_t at) {
    return at > 0 && at < tokens.size() && tokens[at].begin == tokens[at - 1].begin;
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
    auto keep = [&](Item* item, bool calls) {
      if (item->kept || (item->use == Item::host && !(calls && item->callable))) return;
      item->kept = true;
      work.emplace_back(home[item], item);
    };
    auto keep_named = [&](const clang::IdentifierInfo* name, bool calls) {
      auto found = by_name.find(name);
      if (found == by_name.end()) return;
      for (Item* item : found->second) keep(item, calls);
    };
    for (auto& [item, file] : home)
      if (item->use == Item::device) keep(item, false);
    for (auto& [id, file] : m_files)
      for (const clang::IdentifierInfo* name : file.unseen) keep_named(name, false);
    // Only the host names the types in kernels' template arguments.
    for (const KernelUse& kernel : slice.kernels)
      for (const std::string& word : words(kernel.name))
        if (auto found = m_context.Idents.find(word); found != m_context.Idents.end())
          keep_named(found->second, false);
    std::set<const clang::IdentifierInfo*> kept_functions;
    while (!work.empty()) {
      auto [file, item] = work.front();
      work.pop_front();
      if (item->function && item->use != Item::host)
        kept_functions.insert(item->names.begin(), item->names.end());
      item->for_each_name(*file->tokens,
                          [&](const clang::IdentifierInfo* name) { keep_named(name, item->both); });
    }
    for (auto& [item, file] : home)
      if (item->nameless)
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

  static void blank(const File& file, size_t begin, size_t end, std::string& gone) {
    if (begin >= end || begin >= file.tokens->size()) return;
    uint32_t from = (*file.tokens)[begin].begin, to = from;
    for (size_t i = begin; i < end && i < file.tokens->size(); ++i) to = std::max(to, (*file.tokens)[i].end);
    for (uint32_t i = from; i < to && i < gone.size(); ++i)
      if (!gone[i]) gone[i] = ' ';
  }

  static void apply(const File& file, const Cut& cut, llvm::StringRef text, std::string& gone) {
    if (cut.begin >= cut.end || cut.end > file.tokens->size()) return;
    blank(file, cut.begin, cut.end, gone);
    const uint32_t at = (*file.tokens)[cut.begin].begin, last = (*file.tokens)[cut.end - 1].begin;
    if (cut.instead == Cut::semicolon) gone[at] = ';';
    if (cut.instead != Cut::body) return;
    gone[at] = '{';
    gone[last] = '}';
    // An endless loop needs no value to return. It goes where a line has room for it and holds no
    // directive.
    constexpr std::string_view k_loop = "for(;;);";
    size_t room = 0;
    for (uint32_t i = at + 1; i < last && room < k_loop.size(); ++i) {
      const bool taken = text[i] == '\n' || text[i] == '\r' || file.regions.in_directive(i);
      room = taken ? 0 : room + 1;
      if (room == k_loop.size()) std::copy(k_loop.begin(), k_loop.end(), gone.begin() + i + 1 - room);
    }
  }

  clang::ASTContext& m_context;
  const clang::SourceManager& m_sources;
  std::map<clang::FileID, File> m_files;
};

// Work-around: NVRTC stops at a byte of ones and knows no old marks.
// Trigger: a text with a byte order mark, with lines that end with a carriage return alone, or with a byte
// 0xFF in a comment. Symptom: errors; behind the byte of ones nothing is read.
// Removal: NVRTC reads texts as Clang does.
void make_plain(std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.replace(0, 3, "   ");
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')) text[i] = '\n';
    if (text[i] == '\xFF') text[i] = '?';
  }
}

// Puts the host's answer in the place of the __has_include whose header's name begins at `at`.
// Work-around: NVRTC looks everywhere for a header that is only asked for. Trigger: `__has_include` with a
// path, or with a header beside a text that NVRTC was given. Symptom: it finds files outside of the include
// directories, and misses texts. Removal: NVRTC lets its caller answer.
void answer_has_include(std::string& text, size_t at, bool found) {
  constexpr std::string_view k_blanks = " \t";
  const size_t bracket = at == 0 ? text.npos : text.find_last_not_of(k_blanks, at - 1);
  if (bracket == text.npos || bracket == 0 || text[bracket] != '(') return;
  const size_t last = text.find_last_not_of(k_blanks, bracket - 1);
  if (last == text.npos) return;
  size_t begin = text.npos;
  for (std::string_view word : {"__has_include", "__has_include_next"})
    if (last + 1 >= word.size() && text.compare(last + 1 - word.size(), word.size(), word) == 0)
      begin = last + 1 - word.size();
  const size_t name_end = text.find(text[at] == '<' ? '>' : '"', at + 1);
  if (begin == text.npos || name_end == text.npos) return;
  const size_t end = text.find_first_not_of(k_blanks, name_end + 1);
  if (end == text.npos || text[end] != ')') return;
  text.replace(begin, end + 1 - begin, end + 1 - begin, ' ');
  text[begin] = found ? '1' : '0';
}

}  // namespace

bool has_device_attribute(const clang::Decl& decl) {
  return decl.hasAttr<clang::CUDAGlobalAttr>() || decl.hasAttr<clang::CUDADeviceAttr>() ||
         decl.hasAttr<clang::CUDAConstantAttr>() || decl.hasAttr<clang::CUDASharedAttr>();
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

void slice_texts(clang::ASTContext& context, const TokenRecorder& tokens, DeviceSlice& slice) {
  const clang::SourceManager& sources = context.getSourceManager();
  Splitter splitter(context, tokens, slice);
  // A header that was included several times keeps everything that one of its inclusions keeps.
  std::map<std::string, std::string> masks;
  std::map<std::string, llvm::StringRef> texts;
  std::map<std::string, std::vector<Doubt>> doubts;
  std::map<std::string, std::map<uint32_t, std::set<bool>>> asked_headers;
  for (const auto& [id, recorded] : tokens.files()) {
    for (auto [at, found] : recorded.asked_headers) asked_headers[recorded.path][at].insert(found);
    llvm::StringRef text = sources.getBufferData(id);
    std::string mask = splitter.mask(id, text);
    auto [known, fresh] = masks.emplace(recorded.path, mask);
    if (!fresh)
      for (size_t i = 0; i < mask.size(); ++i)
        if (!mask[i]) known->second[i] = '\0';
    texts[recorded.path] = text;
    std::vector<Doubt>& of_file = doubts[recorded.path];
    of_file.clear();
    if (fresh) {
      splitter.list_doubts(id, user_name(recorded.path), of_file);
      splitter.list_host_names(id, user_name(recorded.path), slice.host_names);
    }
    slice.host_texts.push_back({recorded.path, splitter.host_text(id, text)});
    if (id == sources.getMainFileID()) slice.main_file = user_name(recorded.path);
  }
  for (const auto& [path, mask] : masks) {
    std::string text = texts[path].str();
    for (size_t i = 0; i < mask.size(); ++i)
      if (mask[i] && text[i] != '\n' && text[i] != '\r') text[i] = mask[i];
    // If several inclusions of one header got different answers, no answer is right for all.
    for (const auto& [at, answers] : asked_headers[path])
      if (answers.size() == 1) answer_has_include(text, at, *answers.begin());
    make_plain(text);
    slice.files.push_back({user_name(path), std::move(text)});
    slice.doubts.insert(slice.doubts.end(), doubts[path].begin(), doubts[path].end());
  }
}

}  // namespace tarsia::jit
