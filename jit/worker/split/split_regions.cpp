// Directives, and regions that a condition left out of the host's parse.
//
// nvcc preprocesses a source once for the host and once for each architecture. Only __CUDA_ARCH__ differs.
// So a region belongs to the device alone only if the condition mentions it, or mentions a macro that was
// defined under such a condition. The device leaves out whatever else the host left out, even where NVRTC's
// macros would decide otherwise (__SSE2__, CLOCK_MONOTONIC), and takes what the host took: conditions of
// headers on disk get the host's answers (__cpp_lib_bit_cast).
#include "jit/worker/split/split_regions.h"

#include <algorithm>
#include <map>
#include <set>

#include "clang/Basic/CharInfo.h"
#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

namespace tarsia::jit {
namespace {

class RegionReader {
 public:
  RegionReader(llvm::StringRef text, const Ranges& skipped, const DeviceMacros& macros,
               const clang::LangOptions& options)
      : m_text(text),
        m_skipped(skipped),
        m_macros(macros),
        m_lexer(clang::SourceLocation(), options, m_text.data(), m_text.data(),
                m_text.data() + m_text.size()) {}

  FileRegions run() {
    clang::Token token;
    bool more = next(token);
    while (more) {
      if (token.is(clang::tok::hash) && token.isAtStartOfLine())
        more = directive(token);
      else
        take(token), more = next(token);
    }
    if (m_result.of_nvrtc.size() != m_conditions_of_nvrtc) m_result.of_nvrtc.clear();
    for (auto& [at, words] : m_asked) {
      FileRegions::Directive& directive = m_result.directives[at];
      directive.of_host = std::none_of(words.begin(), words.end(), [&](const std::string& word) {
        return is_arch(word) || m_defined.count(word) > 0;
      });
    }
    return std::move(m_result);
  }

 private:
  bool next(clang::Token& token) {
    m_lexer.LexFromRawLexer(token);
    return token.isNot(clang::tok::eof);
  }
  uint32_t offset() const { return static_cast<uint32_t>(m_lexer.getBufferLocation() - m_text.data()); }
  uint32_t begin_of(const clang::Token& token) const { return offset() - token.getLength(); }
  llvm::StringRef spelling(const clang::Token& token) const {
    return m_text.substr(begin_of(token), token.getLength());
  }

  using Word = std::pair<uint32_t, llvm::StringRef>;
  static bool is_nvrtc(const Word& word) { return word.second == "__CUDACC_RTC__"; }
  static bool names_nvrtc(const std::vector<Word>& words) { return std::ranges::any_of(words, is_nvrtc); }

  // Reads a directive's line; `token` is what follows it.
  bool directive(clang::Token& token) {
    const uint32_t hash = begin_of(token);
    bool more = next(token);
    if (!more || token.isAtStartOfLine()) return more;
    const llvm::StringRef kind = spelling(token);
    const uint32_t first = begin_of(token);
    std::vector<Word> words;
    uint32_t end = offset();
    for (more = next(token); more && !token.isAtStartOfLine(); more = next(token)) {
      end = offset();
      if (token.is(clang::tok::raw_identifier)) words.emplace_back(begin_of(token), spelling(token));
    }
    const bool asks =
        std::any_of(words.begin(), words.end(), [&](const auto& word) { return is_arch(word.second); });
    if (kind == "if" || kind == "ifdef" || kind == "ifndef") {
      const bool of_nvrtc =
          names_nvrtc(words) && !is_skipped(end) && std::ranges::all_of(words, [](const auto& word) {
            return is_nvrtc(word) || word.second == "defined";
          });
      m_groups.push_back({hash, asks, of_nvrtc});
    } else if (kind.starts_with("el")) {
      if (!m_groups.empty()) m_groups.back().asks |= asks;
      if (!m_groups.empty()) m_groups.back().of_nvrtc = false;
    } else if (kind == "endif") {
      if (!m_groups.empty()) {
        const Group& group = m_groups.back();
        if (group.asks) m_result.asking.emplace_back(group.begin, end);
        if (group.of_nvrtc) m_result.of_nvrtc.emplace_back(group.begin, end);
        m_groups.pop_back();
      }
    } else {
      if (is_skipped(hash) && in_arch_group())
        for (auto [at, word] : words) m_result.names.emplace_back(at, word.str());
    }
    if (kind.starts_with("if") || kind.starts_with("elif")) m_conditions_of_nvrtc += names_nvrtc(words);
    const bool holds = kind.starts_with("if") || kind.starts_with("el") || kind == "endif" ||
                       kind == "define" || kind == "undef";
    if (!holds && is_skipped(hash) && !in_arch_group()) m_result.dead.emplace_back(hash, end);
    if (kind == "define" && !words.empty()) m_defined.insert(words[0].second.str());
    if (kind.starts_with("if") || kind.starts_with("elif")) {
      std::vector<std::string>& asked = m_asked[m_result.directives.size()];
      for (auto [at, word] : words) asked.push_back(word.str());
    }
    m_result.directives.push_back({hash, end, first, false, holds});
    return more;
  }

  void take(const clang::Token& token) {
    const uint32_t at = begin_of(token);
    if (!is_skipped(at)) return;
    if (!in_arch_group())
      m_result.dead.emplace_back(at, offset());
    else if (token.is(clang::tok::raw_identifier))
      m_result.names.emplace_back(at, spelling(token).str());
  }

  bool is_arch(llvm::StringRef word) const { return m_macros.asks(word); }
  bool in_arch_group() const { return std::ranges::any_of(m_groups, &Group::asks); }
  bool is_skipped(uint32_t at) const {
    auto next = std::upper_bound(m_skipped.begin(), m_skipped.end(), at,
                                 [](uint32_t offset, const auto& range) { return offset < range.first; });
    return next != m_skipped.begin() && at < std::prev(next)->second;
  }

  const llvm::StringRef m_text;
  const Ranges& m_skipped;
  const DeviceMacros& m_macros;
  clang::Lexer m_lexer;
  struct Group {
    uint32_t begin;
    bool asks;      // for the device
    bool of_nvrtc;  // as FileRegions::of_nvrtc
  };
  std::vector<Group> m_groups;  // that are open
  size_t m_conditions_of_nvrtc = 0;
  std::set<std::string> m_defined;
  std::map<size_t, std::vector<std::string>> m_asked;  // the words of conditions, by their directives
  FileRegions m_result;
};

bool is_within(const Ranges& ranges, uint32_t at) {
  return std::ranges::any_of(ranges,
                             [at](const auto& range) { return range.first <= at && at < range.second; });
}

}  // namespace

bool FileRegions::in_directive(uint32_t at) const {
  auto next = std::upper_bound(directives.begin(), directives.end(), at,
                               [](uint32_t offset, const Directive& line) { return offset < line.begin; });
  return next != directives.begin() && at < std::prev(next)->end;
}

bool FileRegions::is_dead(uint32_t at) const {
  return is_within(dead, at);
}

bool FileRegions::is_asking(uint32_t at) const {
  return is_within(asking, at);
}

namespace {

bool is_word_byte(char byte) {
  return clang::isAsciiIdentifierContinue(static_cast<unsigned char>(byte));
}

std::vector<std::string> words_of(llvm::StringRef text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const llvm::StringRef word = text.take_while(is_word_byte);
    if (!word.empty() && !clang::isDigit(static_cast<unsigned char>(word.front())))
      words.push_back(word.str());
    text = text.drop_front(std::max<size_t>(word.size(), 1));
  }
  return words;
}

/// The line that begins here, with those that continue it.
llvm::StringRef whole_line(llvm::StringRef text) {
  size_t end = text.find('\n');
  while (end != text.npos && text.substr(0, end).rtrim('\r').ends_with("\\")) end = text.find('\n', end + 1);
  return text.substr(0, end);
}

}  // namespace

// Directives in comments are read as well. What they ask for is asked for by others, too, or does no harm.
void DeviceMacros::add(llvm::StringRef text) {
  std::vector<std::vector<std::string>> open;
  while (!text.empty()) {
    llvm::StringRef line = whole_line(text);
    text = text.drop_front(std::min(line.size() + 1, text.size()));
    line = line.ltrim(" \t");
    if (!line.consume_front("#")) continue;
    line = line.ltrim(" \t");
    const llvm::StringRef kind = line.take_while(is_word_byte);
    line = line.drop_front(kind.size());
    if (kind == "if" || kind == "ifdef" || kind == "ifndef") {
      open.push_back(words_of(line));
    } else if (kind.starts_with("elif") && !open.empty()) {
      for (std::string& word : words_of(line)) open.back().push_back(std::move(word));
    } else if (kind == "endif" && !open.empty()) {
      open.pop_back();
    } else if (kind == "define" && !open.empty()) {
      Definition definition{line.ltrim(" \t").take_while(is_word_byte).str(), {}};
      for (const auto& words : open)
        definition.conditions.insert(definition.conditions.end(), words.begin(), words.end());
      m_definitions.push_back(std::move(definition));
    }
  }
}

void DeviceMacros::find() {
  const auto is_found = [&](const Definition& one) {
    if (std::ranges::none_of(one.conditions, [&](const std::string& word) { return asks(word); }))
      return false;
    m_names.insert(one.name);
    return true;
  };
  while (std::erase_if(m_definitions, is_found) > 0) {
  }
}

bool DeviceMacros::asks(llvm::StringRef word) const {
  return word.contains("CUDA_ARCH") || word == "__CUDACC_RTC__" || m_names.contains(std::string_view(word));
}

FileRegions read_regions(llvm::StringRef text, const Ranges& skipped, const DeviceMacros& macros,
                         const clang::LangOptions& options) {
  return RegionReader(text, skipped, macros, options).run();
}

}  // namespace tarsia::jit
