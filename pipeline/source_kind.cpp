// A scanner that knows just enough of C++ to step over comments and literals.
#include "pipeline/source_kind.h"

#include <algorithm>
#include <array>

namespace tarsia::pipeline {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

bool is_cuda_word(std::string_view word) {
  static constexpr std::array<std::string_view, 12> k_words = {
      "__global__", "__device__",        "__constant__",      "__managed__", "__host__", "__shared__",
      "threadIdx",  "__launch_bounds__", "__grid_constant__", "blockIdx",    "blockDim", "gridDim"};
  if (word.size() > 4 && word.starts_with("cuda")) return word[4] >= 'A' && word[4] <= 'Z';
  // The driver's types, CUstream and the like.
  if (word.size() > 2 && word.starts_with("CU")) return word[2] >= 'a' && word[2] <= 'z';
  return std::find(k_words.begin(), k_words.end(), word) != k_words.end();
}

bool is_cuda_include(std::string_view name) {
  static constexpr std::array<std::string_view, 25> k_starts = {"cuda",
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
  explicit Scanner(std::string_view text) : m_text(text) {}

  bool finds_cuda() {
    bool line_start = true;  // only white space since the line began
    while (m_at < m_text.size()) {
      const char c = m_text[m_at];
      if (c == '\n') {
        line_start = true;
        ++m_at;
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
        ++m_at;
      } else if (starts("//")) {
        skip_line();
      } else if (starts("/*")) {
        skip_past("*/", 2);
      } else if (c == '#' && line_start) {
        ++m_at;
        line_start = false;
        if (include_is_cuda()) return true;
      } else {
        line_start = false;
        if (starts("<<<")) return true;
        if (c == '"' || c == '\'') {
          skip_quoted(c);
        } else if (is_letter(c)) {
          if (word_is_cuda()) return true;
        } else if (is_digit(c)) {
          skip_number();
        } else {
          ++m_at;
        }
      }
    }
    return false;
  }

 private:
  bool starts(std::string_view what) const { return m_text.substr(m_at, what.size()) == what; }

  void skip_line() {
    // A backslash carries a line comment over to the next line.
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
    // With digit separators, whose quote begins no character literal.
    while (m_at < m_text.size() &&
           (is_word(m_text[m_at]) || m_text[m_at] == '.' ||
            (m_text[m_at] == '\'' && m_at + 1 < m_text.size() && is_word(m_text[m_at + 1])))) {
      ++m_at;
    }
  }

  std::string_view take_word() {
    const std::size_t start = m_at;
    while (m_at < m_text.size() && is_word(m_text[m_at])) ++m_at;
    return m_text.substr(start, m_at - start);
  }

  bool word_is_cuda() {
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
    return is_cuda_word(word);
  }

  bool include_is_cuda() {
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
    return is_cuda_include(name);
  }

  std::string_view m_text;
  std::size_t m_at = 0;
};

}  // namespace

bool mentions_cuda(std::string_view text) {
  return Scanner(text).finds_cuda();
}

bool is_cuda(const jit::SourceFile& file, const std::vector<jit::SourceFile>& headers) {
  const std::size_t dot = file.name.find_last_of("./");
  const std::string_view suffix = dot == std::string::npos || file.name[dot] == '/'
                                      ? std::string_view()
                                      : std::string_view(file.name).substr(dot);
  if (suffix == ".cu") return true;
  for (std::string_view plain : {".c", ".cc", ".cpp", ".cxx", ".c++", ".C"}) {
    if (suffix == plain) return false;
  }
  return mentions_cuda(file.text) ||
         std::any_of(headers.begin(), headers.end(),
                     [](const jit::SourceFile& header) { return mentions_cuda(header.text); });
}

}  // namespace tarsia::pipeline
