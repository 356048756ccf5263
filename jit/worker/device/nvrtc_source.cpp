// The scanner that collects a text's includes and names.
#include "jit/worker/device/nvrtc_source.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>

namespace tarsia::jit {
namespace {

bool is_name_start(char c) {
  return detail::is_identifier_start(c) || (c & 0x80) || c == '$';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}
bool is_name(std::string_view text) {
  return !text.empty() && is_name_start(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_name_start(c) || detail::is_digit(c); });
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : m_text(text) {}

  SourceNames run() {
    m_names.first_code = m_text.size();
    bool line_start = true;
    while (m_at < m_text.size()) {
      const char c = m_text[m_at];
      if (c == '\n') {
        next_line();
        line_start = true;
      } else if (is_blank(c)) {
        ++m_at;
      } else if (c == '\\' && peek(1) == '\n') {
        ++m_at;
        next_line();
      } else if (c == '/' && (peek(1) == '/' || peek(1) == '*')) {
        skip_comment();
      } else if (c == '#' && line_start) {
        directive();
        line_start = true;
      } else {
        if (line_start || m_names.first_code == m_text.size())
          m_names.first_code = std::min(m_names.first_code, m_at);
        line_start = false;
        token();
      }
    }
    return std::move(m_names);
  }

 private:
  char peek(size_t ahead) const { return m_at + ahead < m_text.size() ? m_text[m_at + ahead] : '\0'; }
  void next_line() {
    ++m_at;
    ++m_line;
    m_line_begin = m_at;
  }
  TextPlace place(size_t at) const { return {m_line, static_cast<int>(at - m_line_begin) + 1}; }

  void skip_comment() {
    if (peek(1) == '/') {
      while (m_at < m_text.size() && m_text[m_at] != '\n') {
        if (m_text[m_at] == '\\' && peek(1) == '\n') {
          ++m_at;
          next_line();
        } else {
          ++m_at;
        }
      }
      return;
    }
    m_at += 2;
    while (m_at < m_text.size() && !(m_text[m_at] == '*' && peek(1) == '/'))
      m_text[m_at] == '\n' ? next_line() : void(++m_at);
    m_at = std::min(m_at + 2, m_text.size());
  }

  void skip_quoted(char quote) {
    ++m_at;
    while (m_at < m_text.size() && m_text[m_at] != quote && m_text[m_at] != '\n') {
      if (m_text[m_at] == '\\') {
        ++m_at;
        if (m_at < m_text.size() && m_text[m_at] == '\n') {
          next_line();
          continue;
        }
      }
      m_at = std::min(m_at + 1, m_text.size());
    }
    if (m_at < m_text.size() && m_text[m_at] == quote) ++m_at;
  }

  void skip_raw_string() {
    const size_t open = m_text.find('(', m_at);
    if (open == m_text.npos) {
      ++m_at;
      return;
    }
    const std::string end = ")" + std::string(m_text.substr(m_at + 1, open - m_at - 1)) + "\"";
    const size_t close = std::min(m_text.find(end, open), m_text.size());
    while (m_at < close) m_text[m_at] == '\n' ? next_line() : void(++m_at);
    m_at = std::min(close + end.size(), m_text.size());
  }

  /// Reads from '#' to the end of the line. Keeps an #include; names in other directives count as
  /// mentioned.
  void directive() {
    ++m_at;
    while (is_blank(peek(0))) ++m_at;
    const size_t begin = m_at;
    while (is_name_start(peek(0))) ++m_at;
    const std::string_view word = m_text.substr(begin, m_at - begin);
    if (word == "include" || word == "include_next" || word == "import") return include();
    if (word == "embed" && m_names.embed.line == 0) m_names.embed = place(begin);
    if (word == "define") header_macro();
    while (m_at < m_text.size() && m_text[m_at] != '\n') {
      const char c = m_text[m_at];
      if (c == '\\' && peek(1) == '\n') {
        ++m_at;
        next_line();
      } else if (c == '/' && (peek(1) == '/' || peek(1) == '*')) {
        skip_comment();
      } else if (is_blank(c)) {
        ++m_at;
      } else {
        token();
        if (m_last == "__has_include" || m_last == "__has_include_next") asked();
      }
    }
    m_before = m_last = {};
  }

  /// The header in the brackets after __has_include; nothing if the brackets do not spell it out.
  void asked() {
    size_t at = m_text.find_first_not_of(" \t", m_at);
    if (at == m_text.npos || m_text[at] != '(') return;
    at = m_text.find_first_not_of(" \t", at + 1);
    if (at == m_text.npos || (m_text[at] != '<' && m_text[at] != '"')) return;
    const bool angled = m_text[at] == '<';
    const size_t end = m_text.find_first_of(angled ? ">\n" : "\"\n", at + 1);
    if (end == m_text.npos || m_text[end] == '\n') return;
    m_names.asked.push_back({std::string(m_text.substr(at + 1, end - at - 1)), angled, m_line, at, end + 1});
    m_at = end + 1;
  }

  /// Keeps both names if the rest of this #define is a name and a header's name. Consumes nothing.
  void header_macro() {
    std::string_view line = m_text.substr(m_at, m_text.find('\n', m_at) - m_at);
    auto blank = [&] { line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size())); };
    blank();
    const size_t end = std::find_if_not(line.begin(), line.end(),
                                        [](char c) { return is_name_start(c) || detail::is_digit(c); }) -
                       line.begin();
    const std::string_view name = line.substr(0, end);
    line.remove_prefix(end);
    std::string_view parameter;
    if (line.starts_with('(')) {
      const size_t last = line.find(')');
      if (last == line.npos) return;
      parameter = without_blanks(line.substr(1, last - 1));
      if (!is_name(parameter)) return;
      line.remove_prefix(last + 1);
    }
    blank();
    if (name.empty() || line.empty() || (line[0] != '"' && line[0] != '<')) return;
    const size_t close = line.find(line[0] == '<' ? '>' : '"', 1);
    if (close != line.npos)
      m_names.header_macros.push_back({name, parameter, std::string(line.substr(1, close - 1))});
  }

  void include() {
    while (is_blank(peek(0))) ++m_at;
    const char open = peek(0);
    const char close = open == '<' ? '>' : '"';
    if (open == '<' || open == '"') {
      const size_t end = m_text.find_first_of(open == '<' ? ">\n" : "\"\n", m_at + 1);
      if (end != m_text.npos && m_text[end] == close)
        m_names.includes.push_back(
            {std::string(m_text.substr(m_at + 1, end - m_at - 1)), open == '<', m_line, m_at, end + 1});
    } else {
      const size_t begin = m_at;
      while (is_name_start(peek(0)) || detail::is_digit(peek(0))) ++m_at;
      const std::string_view name = m_text.substr(begin, m_at - begin);
      while (is_blank(peek(0))) ++m_at;
      std::string_view argument;
      if (peek(0) == '(') {
        const size_t end = m_text.find_first_of(")(,\n", m_at + 1);
        if (end != m_text.npos && m_text[end] == ')') {
          argument = without_blanks(m_text.substr(m_at + 1, end - m_at - 1));
          m_at = end + 1;
        }
        while (is_blank(peek(0))) ++m_at;
      }
      const bool ends = m_at >= m_text.size() || peek(0) == '\n' || peek(0) == '/';
      m_names.computed_includes.push_back({ends ? name : std::string_view(), argument, m_line});
    }
    while (m_at < m_text.size() && m_text[m_at] != '\n') ++m_at;
  }

  void token() {
    const size_t begin = m_at;
    const char c = m_text[m_at];
    if (is_name_start(c)) {
      while (m_at < m_text.size() && (is_name_start(m_text[m_at]) || detail::is_digit(m_text[m_at]))) ++m_at;
      const std::string_view name = m_text.substr(begin, m_at - begin);
      const bool literal = peek(0) == '"' || peek(0) == '\'';
      if (literal && (name == "R" || name == "LR" || name == "uR" || name == "UR" || name == "u8R") &&
          peek(0) == '"') {
        skip_raw_string();
        return push("\"");
      }
      if (literal && (name == "L" || name == "u" || name == "U" || name == "u8")) {
        skip_quoted(peek(0));
        return push("\"");
      }
      m_names.identifiers.insert(name);
      if (m_last == "::" && m_before == "std") m_names.std_names.insert(name);
      if (name == "std" && m_last == "namespace" && m_before == "using") m_names.using_std = true;
      if ((name == "__device__" || name == "__host__") && m_last == "]" && m_lambda &&
          m_names.device_lambda.line == 0)
        m_names.device_lambda = place(begin);
      return push(name);
    }
    if (detail::is_digit(c) || (c == '.' && detail::is_digit(peek(1)))) {
      // A number, with digit separators and signed exponents, so that its ' opens no character literal.
      while (m_at < m_text.size() &&
             (is_name_start(m_text[m_at]) || detail::is_digit(m_text[m_at]) || m_text[m_at] == '.' ||
              (m_text[m_at] == '\'' && m_at + 1 < m_text.size() &&
               (detail::is_digit(m_text[m_at + 1]) || is_name_start(m_text[m_at + 1])))))
        ++m_at;
      return push("0");
    }
    if (c == '"' || c == '\'') {
      skip_quoted(c);
      return push("\"");
    }
    if (c == ':' && peek(1) == ':') {
      m_at += 2;
      return push("::");
    }
    if (c == '<' && peek(1) == '<' && peek(2) == '<') {
      if (m_names.launch.line == 0) m_names.launch = place(begin);
      m_at += 3;
      return push("<<<");
    }
    if (c == '[') {
      // The token before tells a lambda's captures from an index.
      const bool index = m_last == "]" || m_last == ")" || m_last == "\"" ||
                         (!m_last.empty() && is_name_start(m_last[0]) && m_last != "return");
      if (m_brackets == 0) m_captures = !index;
      ++m_brackets;
    } else if (c == ']' && m_brackets > 0) {
      --m_brackets;
      if (m_brackets == 0) m_lambda = m_captures;
    }
    ++m_at;
    push(m_text.substr(begin, 1));
  }

  void push(std::string_view token) {
    m_before = m_last;
    m_last = token;
  }

  std::string_view m_text;
  SourceNames m_names;
  size_t m_at = 0;
  size_t m_line_begin = 0;
  int m_line = 1;
  std::string_view m_before, m_last;  // the two tokens before
  int m_brackets = 0;
  bool m_captures = false;  // the open [ begins a lambda
  bool m_lambda = false;    // … and so did the last one closed
};

}  // namespace

SourceNames scan_source(std::string_view text) {
  return Scanner(text).run();
}

std::string header_of(const HeaderMacro& macro, std::string_view argument) {
  if (macro.parameter.empty()) return macro.header;
  std::string header;
  for (size_t at = 0; at < macro.header.size();) {
    size_t end = at + 1;
    if (is_name_start(macro.header[at]))
      while (end < macro.header.size() &&
             (is_name_start(macro.header[end]) || detail::is_digit(macro.header[end])))
        ++end;
    const std::string_view token = std::string_view(macro.header).substr(at, end - at);
    header += token == macro.parameter ? argument : token;
    at = end;
  }
  return header;
}

std::vector<IncludeLine> scan_includes(std::string_view text) {
  std::vector<IncludeLine> includes;
  for (size_t at = 0; (at = text.find("include", at)) != text.npos; at += 7) {
    size_t hash = at;
    while (hash > 0 && is_blank(text[hash - 1])) --hash;
    if (hash == 0 || text[hash - 1] != '#') continue;
    size_t open = at + 7;
    while (open < text.size() && is_blank(text[open])) ++open;
    if (open >= text.size() || (text[open] != '<' && text[open] != '"')) continue;
    const size_t end = text.find_first_of(text[open] == '<' ? ">\n" : "\"\n", open + 1);
    if (end == text.npos || text[end] == '\n') continue;
    includes.push_back(
        {std::string(text.substr(open + 1, end - open - 1)), text[open] == '<', 0, open, end + 1});
  }
  return includes;
}

}  // namespace tarsia::jit
