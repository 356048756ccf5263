// The split: which parts of a CUDA source the device's compiler needs.
//
// NVRTC takes neither host-only code nor the standard library, so it gets a slice: the user's files at
// their original lines and columns, in which everything that only the host needs is blanked out. Kernels,
// device variables and the device functions of the user's own text stay. All else stays if something that
// stays names it: types, constants, aliases, constexpr functions, and the device functions and classes of
// headers on disk (split_closure.h). The closure goes by identifiers, not by resolved references. The host's
// parse steps over device bodies, which may hold text that never parses as host code, so only their tokens
// are known. A name reaches only into namespaces that are open where it stands. Names keep too much now and
// then (a type that is called like a local variable), and never too little. Declarations that stay for their
// name alone are listed as doubts. If the device's compiler stumbles over one, it is left out after all
// (device_job.cpp). Headers of which nothing stays, and nobody needs a macro, are left out with their
// includes (split_headers.h).
//
// Directives stay wherever they stand, so that the device's own preprocessing (__CUDA_ARCH__) sees what it
// would see under nvcc (split_regions.cpp).
#include "jit/worker/split/split.h"

#include <algorithm>
#include <set>

#include "clang/AST/ASTContext.h"
#include "clang/AST/Attr.h"
#include "clang/AST/DeclTemplate.h"
#include "clang/Basic/SourceManager.h"
#include "jit/worker/source/diagnostics.h"
#include "jit/worker/split/split_closure.h"
#include "jit/worker/split/split_headers.h"
#include "jit/worker/split/split_items.h"
#include "jit/worker/split/token_recorder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Path.h"

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

  // The replacement of each byte of the file; NUL where the byte stays. `words`: what stands, besides, where
  // something longer or shorter stood.
  std::string mask(clang::FileID id, llvm::StringRef text, std::map<uint32_t, std::string>& words) {
    std::string gone(text.size(), '\0');
    File& file = m_files.at(id);
    for (auto [begin, end] : file.regions.dead) std::fill(gone.begin() + begin, gone.begin() + end, ' ');
    for (const Item& item : file.items) {
      if (!item.kept && item.text_end > 0)
        std::fill(gone.begin() + item.text_begin, gone.begin() + std::min<size_t>(item.text_end, gone.size()),
                  ' ');
      else if (!item.kept)
        blank(file, item.begin, item.end, gone);
      else
        for (const Cut& cut : item.cuts) apply(file, cut, text, gone, words);
    }
    open_compound_literals(*file.tokens, gone);
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

  // Whether something of the file is kept, or all of it because it is the request's.
  bool is_of_use(clang::FileID id) {
    const File& file = m_files.at(id);
    return file.own || std::ranges::any_of(file.items, [](const Item& item) { return item.kept; });
  }

  // Of each namespace in which something is kept, or that something names, a file that opens it.
  std::set<clang::FileID> openers() {
    std::map<const clang::NamespaceDecl*, clang::FileID> by_space;
    for (auto& [id, file] : m_files)
      for (const SplitSpace& one : file.spaces)
        if (m_open.contains(one.space) && (is_of_use(id) || !by_space.contains(one.space)))
          by_space[one.space] = id;
    std::set<clang::FileID> all;
    for (auto [space, id] : by_space) all.insert(id);
    return all;
  }

  // The conditions of a header on disk that mean the same on both sides, as [first, last) bytes behind the
  // "#".
  Ranges conditions_of_host(clang::FileID id) {
    const File& file = m_files.at(id);
    Ranges all;
    if (file.own) return all;
    for (const FileRegions::Directive& directive : file.regions.directives)
      if (directive.of_host) all.emplace_back(directive.word, directive.end);
    return all;
  }

  void list_doubts(clang::FileID id, const std::string& name, std::vector<Doubt>& doubts) {
    File& file = m_files.at(id);
    for (const Item& item : file.items) {
      if (!item.kept || item.root || item.nameless) continue;
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
    Closure closure(m_files);
    for (auto& [id, file] : m_files) {
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
        if (auto found = m_context.Idents.find(word); found != m_context.Idents.end())
          closure.see(found->second);
    closure.run();
    m_open = closure.opened();
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

  // "(float2){1, 2}" becomes " float2 {1, 2}".
  // Work-around: NVRTC knows no compound literals.
  // Trigger: one in device code. Symptom: "expected an expression". Removal: NVRTC takes what nvcc takes.
  static void open_compound_literals(const Tokens& tokens, std::string& gone) {
    using namespace clang::tok;
    for (size_t i = 1; i + 3 < tokens.size(); ++i) {
      if (tokens[i].kind != l_paren || (i > 1 && tokens[i - 2].kind == kw_operator)) continue;
      if (!may_precede_a_literal(tokens[i - 1].kind) || shares_macro(tokens, i)) continue;
      size_t end = i + 1;
      const size_t tag = tokens[end].kind == kw_struct ? end++ : 0;
      int angles = 0;
      bool plain =
          tokens[end].kind == identifier || tokens[end].kind == coloncolon || is_scalar(tokens[end].kind);
      for (; plain && end < tokens.size() && tokens[end].kind != r_paren; ++end) {
        const TokenKind kind = tokens[end].kind;
        angles += (kind == less) - (kind == greater);
        plain = kind == identifier || kind == coloncolon || kind == less || kind == greater ||
                (is_scalar(kind) && (angles > 0 || end == i + 1)) ||
                (angles > 0 && (kind == comma || kind == numeric_constant));
        if (shares_macro(tokens, end)) plain = false;
      }
      if (!plain || angles != 0 || end + 1 >= tokens.size() || tokens[end + 1].kind != l_brace) continue;
      if (shares_macro(tokens, end)) continue;
      gone[tokens[i].begin] = gone[tokens[end].begin] = ' ';
      if (tag) std::fill(gone.begin() + tokens[tag].begin, gone.begin() + tokens[tag].end, ' ');
    }
  }

  static bool is_scalar(clang::tok::TokenKind kind) {
    using namespace clang::tok;
    return kind == kw_int || kind == kw_float || kind == kw_double || kind == kw_bool || kind == kw_char ||
           kind == kw_short || kind == kw_long || kind == kw_unsigned;
  }

  // Tokens behind which "(type){" can be nothing else.
  static bool may_precede_a_literal(clang::tok::TokenKind kind) {
    using namespace clang::tok;
    for (clang::tok::TokenKind one :
         {equal,      kw_return,    comma,   l_paren,   question,     colon,      plus,      minus,
          star,       slash,        percent, l_brace,   plusequal,    minusequal, starequal, slashequal,
          equalequal, exclaimequal, less,    lessequal, greaterequal, ampamp,     pipepipe,  l_square})
      if (kind == one) return true;
    return false;
  }

  static void apply(const File& file, const Cut& cut, llvm::StringRef text, std::string& gone,
                    std::map<uint32_t, std::string>& words) {
    if (cut.begin >= cut.end || cut.end > file.tokens->size()) return;
    blank(file, cut.begin, cut.end, gone);
    const uint32_t at = (*file.tokens)[cut.begin].begin, last = (*file.tokens)[cut.end - 1].begin;
    if (cut.instead == Cut::words) words[at] = cut.text;
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
  std::set<const clang::NamespaceDecl*> m_open;
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

// Puts the host's answer in the place of the condition whose first word begins at `begin`.
void answer_condition(std::string& text, uint32_t begin, uint32_t end, bool answer) {
  const std::string word = text.compare(begin, 2, "el") == 0 ? "elif" : "if";
  const std::string instead = word + (answer ? " 1" : " 0");
  if (end > text.size() || end - begin < instead.size()) return;
  if (text.find_first_of("\n\\", begin) < begin + instead.size()) return;
  for (uint32_t i = begin; i < end; ++i)
    if (text[i] != '\n' && text[i] != '\r' && text[i] != '\\') text[i] = ' ';
  text.replace(begin, instead.size(), instead);
}

std::string plain(llvm::StringRef path) {
  llvm::SmallString<256> text(path);
  llvm::sys::path::remove_dots(text, /*remove_dot_dot=*/true);
  return std::string(text);
}

// Writes the header's name in the place of the macros of the #include whose "#" stands at `hash`, if macros
// it has: the host's preprocessor knows what they make, and nobody else looks into them.
void name_header(std::string& text, size_t hash, const std::string& name,
                 std::map<uint32_t, std::string>& words) {
  constexpr std::string_view k_blanks = " \t";
  if (hash >= text.size() || text[hash] != '#') return;
  size_t at = text.find_first_not_of(k_blanks, hash + 1);
  while (at < text.size() && (isalpha(static_cast<unsigned char>(text[at])) || text[at] == '_')) ++at;
  at = text.find_first_not_of(k_blanks, at);
  if (at == text.npos || text[at] == '<' || text[at] == '"') return;
  for (size_t i = at; i < text.size() && text[i] != '\n'; ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == '\n')
      ++i;  // the line goes on
    else
      text[i] = ' ';
  }
  words[uint32_t(at)] = name;
}

// Puts each of the words where its place is; blanks behind it make room, the rest of the line moves.
void put_words(std::string& text, const std::map<uint32_t, std::string>& words, std::vector<Doubt>& doubts) {
  for (auto one = words.rbegin(); one != words.rend(); ++one) {
    const auto& [at, word] = *one;
    size_t room = 0;
    while (room < word.size() && at + room < text.size() && text[at + room] == ' ') ++room;
    text.replace(at, room, word);
    const uint32_t more = uint32_t(word.size() - room);
    for (Doubt& doubt : doubts)
      for (auto& [begin, end] : doubt.ranges) {
        if (begin > at) begin += more;
        if (end > at) end += more;
      }
  }
}

}  // namespace

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

void slice_texts(clang::ASTContext& context, const TokenRecorder& tokens, DeviceSlice& slice) {
  const clang::SourceManager& sources = context.getSourceManager();
  Splitter splitter(context, tokens, slice);
  // A header that was included several times keeps everything that one of its inclusions keeps.
  std::map<std::string, std::string> masks;
  std::map<std::string, llvm::StringRef> texts;
  std::map<std::string, std::vector<Doubt>> doubts;
  std::map<std::string, std::map<uint32_t, std::set<bool>>> asked_headers;
  std::map<std::string, std::map<uint32_t, std::string>> words;
  std::map<std::string, std::map<uint32_t, std::set<std::string>>> computed;
  std::map<std::string, std::map<std::pair<uint32_t, uint32_t>, std::set<bool>>> conditions;
  std::map<std::string, SlicedHeader> headers;
  const std::set<clang::FileID> openers = splitter.openers();
  for (const auto& [id, recorded] : tokens.files()) {
    for (auto [begin, end] : splitter.conditions_of_host(id))
      if (auto answer = recorded.conditions.find(begin); answer != recorded.conditions.end())
        conditions[recorded.path][{begin, end}].insert(answer->second);
    SlicedHeader& header = headers[recorded.path];
    header.of_use |= splitter.is_of_use(id) || openers.contains(id);
    header.main |= id == sources.getMainFileID();
    header.again |= header.entered++ > 0;
    for (const auto& [at, included] : recorded.included) {
      computed[recorded.path][at].insert(included.name);
      header.includes.push_back({at, included.name, included.path});
    }
    for (auto [at, found] : recorded.asked_headers) asked_headers[recorded.path][at].insert(found);
    llvm::StringRef text = sources.getBufferData(id);
    std::string mask = splitter.mask(id, text, words[recorded.path]);
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
    for (const auto& [range, answers] : conditions[path])
      if (answers.size() == 1) answer_condition(text, range.first, range.second, *answers.begin());
    make_plain(text);
    std::map<uint32_t, std::string>& instead = words[path];
    std::erase_if(instead, [&](const auto& one) { return !mask[one.first]; });  // an inclusion keeps it
    for (const auto& [at, names] : computed[path])
      if (names.size() == 1) name_header(text, at, *names.begin(), instead);
    SlicedHeader& header = headers[path];
    header.text = std::move(text);
    header.words = std::move(instead);
  }
  // One file may be named in several ways.
  std::map<std::string, std::string> by_place;
  for (const auto& [path, header] : headers) by_place.emplace(plain(path), path);
  for (auto& [path, header] : headers)
    for (SlicedHeader::Include& one : header.includes)
      if (auto found = by_place.find(plain(one.path)); found != by_place.end()) one.path = found->second;
  leave_out_idle_headers(headers);
  for (auto& [path, header] : headers) {
    if (!header.needed) continue;
    put_words(header.text, header.words, doubts[path]);
    slice.files.push_back({user_name(path), std::move(header.text)});
    slice.doubts.insert(slice.doubts.end(), doubts[path].begin(), doubts[path].end());
  }
}

}  // namespace tarsia::jit
