// A scanner that knows just enough of C++ to step over comments and literals.
#include "pipeline/source_kind.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <array>
#include <optional>

#include "jit/source_suffix.h"

namespace tarsia::pipeline {
namespace {

bool is_cuda_word(std::string_view word) {
  static constexpr std::array<std::string_view, 12> k_words = {
      "__global__", "__device__",        "__constant__",      "__managed__", "__host__", "__shared__",
      "threadIdx",  "__launch_bounds__", "__grid_constant__", "blockIdx",    "blockDim", "gridDim"};
  switch (word[0]) {
    case 'c':
      return word.size() > 4 && word.starts_with("cuda") && word[4] >= 'A' && word[4] <= 'Z';
    case 'C':
      // The driver's types: CUstream and the like.
      return word.size() > 2 && word[1] == 'U' && word[2] >= 'a' && word[2] <= 'z';
    case '_':
    case 't':
    case 'b':
    case 'g':
      return std::find(k_words.begin(), k_words.end(), word) != k_words.end();
    default:
      return false;
  }
}

bool is_cuda_include(std::string_view name) {
  static constexpr std::array<std::string_view, 26> k_starts = {"cuda",
                                                                "cub/",
                                                                "cooperative_groups",
                                                                "curand",
                                                                "cublas",
                                                                "cusparse",
                                                                "cufft",
                                                                "cusolver",
                                                                "cudnn",
                                                                "cutensor",
                                                                "cutlass/",
                                                                "cute/",
                                                                "thrust/",
                                                                "nv/",
                                                                "nvtx3/",
                                                                "nccl",
                                                                "THC",
                                                                "mma.h",
                                                                "driver_types",
                                                                "vector_types",
                                                                "crt/",
                                                                "texture_",
                                                                "surface_",
                                                                "math_constants",
                                                                "device_launch_parameters",
                                                                "vector_functions"};
  if (name.ends_with(".cuh")) return true;
  return std::any_of(k_starts.begin(), k_starts.end(),
                     [&](std::string_view start) { return name.starts_with(start); });
}

class Scanner {
 public:
  /// What it looks for: anything of CUDA's, or only an include of a header of THC's.
  enum class For { cuda, thc };
  Scanner(std::string_view text, For wanted) : m_text(text), m_wanted(wanted) {}

  bool finds() {
    bool line_start = true;  // only white space since the line began
    while (m_at < m_text.size()) {
      const char c = m_text[m_at];
      switch (c) {
        case '\n':
          line_start = true;
          [[fallthrough]];
        case ' ':
        case '\t':
        case '\r':
        case '\f':
        case '\v':
          ++m_at;
          continue;
        case '/':
          if (starts("//")) {
            skip_line();
            continue;
          }
          if (starts("/*")) {
            skip_past("*/", 2);
            continue;
          }
          ++m_at;
          break;
        case '#':
          ++m_at;
          if (line_start && include_is_wanted()) return true;
          break;
        case '<':
          if (m_wanted == For::cuda && starts("<<<")) return true;
          ++m_at;
          break;
        case '"':
        case '\'':
          skip_quoted(c);
          break;
        default:
          if (detail::is_digit(c)) {
            skip_number();
          } else if (detail::is_identifier_part(c)) {
            if (word_is_wanted()) return true;
          } else {
            ++m_at;
          }
      }
      line_start = false;
    }
    return false;
  }

 private:
  bool starts(std::string_view what) const { return m_text.substr(m_at, what.size()) == what; }

  void skip_line() {
    // A backslash continues a line comment on the next line.
    while (m_at < m_text.size() && m_text[m_at] != '\n') m_at += m_text[m_at] == '\\' ? 2 : 1;
  }

  void skip_past(std::string_view end, std::size_t from) {
    const std::size_t found = m_text.find(end, m_at + from);
    m_at = found == std::string_view::npos ? m_text.size() : found + end.size();
  }

  void skip_quoted(char quote) {
    for (++m_at; m_at < m_text.size() && m_text[m_at] != quote && m_text[m_at] != '\n'; ++m_at) {
      if (m_text[m_at] == '\\') ++m_at;
    }
    ++m_at;
  }

  void skip_number() {
    // A number, with digit separators, whose quote begins no character literal.
    while (m_at < m_text.size() && (detail::is_identifier_part(m_text[m_at]) || m_text[m_at] == '.' ||
                                    (m_text[m_at] == '\'' && m_at + 1 < m_text.size() &&
                                     detail::is_identifier_part(m_text[m_at + 1])))) {
      ++m_at;
    }
  }

  std::string_view take_word() {
    const std::size_t start = m_at;
    while (m_at < m_text.size() && detail::is_identifier_part(m_text[m_at])) ++m_at;
    return m_text.substr(start, m_at - start);
  }

  bool word_is_wanted() {
    const std::string_view word = take_word();
    if (m_at < m_text.size() && m_text[m_at] == '"' && word.ends_with('R') && word.size() <= 3) {
      // R"delimiter( … )delimiter"
      const std::size_t open = m_text.find('(', m_at);
      if (open == std::string_view::npos) {
        m_at = m_text.size();
        return false;
      }
      std::string end(")");
      end += m_text.substr(m_at + 1, open - m_at - 1);
      end += '"';
      skip_past(end, open - m_at);
      return false;
    }
    return m_wanted == For::cuda && is_cuda_word(word);
  }

  bool include_is_wanted() {
    const auto skip_blanks = [&] {
      while (m_at < m_text.size() && (m_text[m_at] == ' ' || m_text[m_at] == '\t')) ++m_at;
    };
    skip_blanks();
    if (take_word() != "include") return false;
    skip_blanks();
    if (m_at >= m_text.size() || (m_text[m_at] != '<' && m_text[m_at] != '"')) return false;
    const char close = m_text[m_at] == '<' ? '>' : '"';
    const std::size_t start = ++m_at;
    while (m_at < m_text.size() && m_text[m_at] != close && m_text[m_at] != '\n') ++m_at;
    const std::string_view name = m_text.substr(start, m_at - start);
    if (m_at < m_text.size() && m_text[m_at] == close) ++m_at;
    return m_wanted == For::thc ? name.starts_with("THC") : is_cuda_include(name);
  }

  std::string_view m_text;
  For m_wanted;
  std::size_t m_at = 0;
};

/// Whether it includes a header of THC: what it calls of it runs kernels, which are compiled beside it.
bool includes_thc(std::string_view text) {
  return Scanner(text, Scanner::For::thc).finds();
}

}  // namespace

bool mentions_cuda(std::string_view text) {
  return Scanner(text, Scanner::For::cuda).finds();
}

SourceKind kind_of(const std::vector<jit::SourceFile>& files, const std::vector<jit::SourceFile>& headers) {
  const bool in_headers = std::any_of(headers.begin(), headers.end(), [](const jit::SourceFile& header) {
    return mentions_cuda(header.text);
  });
  SourceKind kind = in_headers ? SourceKind::host_with_cuda : SourceKind::host;
  for (const jit::SourceFile& file : files) {
    const std::optional<jit::Language> language = jit::language_of_name(file.name);
    if (language == jit::Language::cuda) return SourceKind::cuda;
    const bool mentioned = mentions_cuda(file.text);
    if (!language && (mentioned || in_headers)) return SourceKind::cuda;
    if (mentioned && includes_thc(file.text)) return SourceKind::cuda;
    if (mentioned) kind = SourceKind::host_with_cuda;
  }
  return kind;
}

}  // namespace tarsia::pipeline
