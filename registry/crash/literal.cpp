// Looks for a part of the text that stands in the file as it is, and then tries the quotes before it: each is
// read as if it opened the literal, up to the first byte that differs.
#include "registry/crash/literal.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <functional>
#include <optional>

namespace tarsia::registry {
namespace {

int hex_digit(char c) {
  return c >= '0' && c <= '9'   ? c - '0'
         : c >= 'a' && c <= 'f' ? c - 'a' + 10
         : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                : -1;
}

/// Reads a literal's value byte by byte, with the lines of the file.
class LiteralReader {
 public:
  LiteralReader(std::string_view file, std::size_t quote, std::uint32_t line)
      : m_file(file), m_at(quote), m_line(line) {}

  /// Whether the literal opens here in a form that can be read.
  bool open() {
    std::size_t prefix = m_at;
    while (prefix > 0 && m_at - prefix < 3 && detail::is_letter(m_file[prefix - 1])) --prefix;
    const std::string_view letters = m_file.substr(prefix, m_at - prefix);
    m_raw = letters.find_first_of("rR") != letters.npos;
    if (letters.find_first_of("fFtT") != letters.npos) return false;
    m_quote = m_file[m_at];
    m_triple = closes(m_at, 3);
    m_at += m_triple ? 3 : 1;
    return true;
  }

  /// Steps over what has no value. False: the literal ends here, or it cannot be read on.
  bool skip() {
    while (!m_has_next) {
      if (m_at >= m_file.size()) return false;
      if (closes(m_at, m_triple ? 3 : 1)) {
        if (!open_neighbour()) return false;
      } else if (!m_raw && m_file[m_at] == '\\' && newline_at(m_at + 1)) {
        m_at += 1 + newline_at(m_at + 1);
        ++m_line;
      } else {
        return true;
      }
    }
    return true;
  }

  /// The next byte; none: it cannot be read. After skip().
  std::optional<char> take() {
    if (m_has_next) {
      m_has_next = false;
      return step();
    }
    if (m_file[m_at] == '\\' && m_raw) {
      m_has_next = m_at + 1 < m_file.size();  // a quote behind it does not close
      ++m_at;
      return '\\';
    }
    return m_file[m_at] == '\\' ? escaped() : step();
  }

  std::uint32_t line() const { return m_line; }
  bool is_closed() const { return m_closed; }

 private:
  bool closes(std::size_t at, std::size_t n) const {
    return m_file.size() - at >= n &&
           m_file.substr(at, n).find_first_not_of(m_quote) == std::string_view::npos;
  }

  /// The bytes of a newline; 0: there is none.
  std::size_t newline_at(std::size_t at) const {
    return m_file.substr(std::min(at, m_file.size()), 2) == "\r\n" ? 2
                                                                   : at < m_file.size() && m_file[at] == '\n';
  }

  std::optional<char> step() {
    if (const std::size_t n = newline_at(m_at)) {
      if (!m_triple) return std::nullopt;
      m_at += n;
      ++m_line;
      return '\n';
    }
    return m_file[m_at++];
  }

  std::optional<char> escaped() {
    constexpr std::string_view k_names = "\\'\"ntrabfv0";
    constexpr std::string_view k_values{"\\'\"\n\t\r\a\b\f\v\0", 11};
    if (m_at + 1 >= m_file.size()) return std::nullopt;
    const char c = m_file[m_at + 1];
    if (c == 'x' && m_at + 3 < m_file.size()) {
      const int high = hex_digit(m_file[m_at + 2]), low = hex_digit(m_file[m_at + 3]);
      if (high < 0 || low < 0 || high > 7)
        return std::nullopt;  // beyond ASCII it is a character of two bytes
      m_at += 4;
      return static_cast<char>(high * 16 + low);
    }
    if (c == 'u' || c == 'U' || c == 'N' || (c >= '1' && c <= '7')) return std::nullopt;
    const std::size_t found = k_names.find(c);
    if (found == k_names.npos) return step();  // the backslash stands for itself
    m_at += 2;
    return k_values[found];
  }

  /// Goes on in the string that stands beside the one that ends here.
  bool open_neighbour() {
    m_closed = true;
    m_at += m_triple ? 3 : 1;
    std::uint32_t line = m_line;
    std::size_t at = m_at;
    while (at < m_file.size() && (m_file[at] == ' ' || m_file[at] == '\t' || m_file[at] == '\\' ||
                                  m_file[at] == '#' || newline_at(at))) {
      if (m_file[at] == '#') at = std::min(m_file.find('\n', at), m_file.size() - 1);
      line += m_file[at] == '\n';
      ++at;
      if (at < m_file.size() && m_file[at] == '\r') ++at;
    }
    while (at < m_file.size() && detail::is_letter(m_file[at])) ++at;
    if (at >= m_file.size() || (m_file[at] != '"' && m_file[at] != '\'')) return false;
    m_at = at;
    m_line = line;
    m_closed = false;
    return open();
  }

  std::string_view m_file;
  std::size_t m_at;
  std::uint32_t m_line;
  char m_quote = 0;
  bool m_raw = false, m_triple = false, m_has_next = false, m_closed = false;
};

/// The lines if the literal that a quote opens has the value; empty otherwise.
std::vector<std::uint32_t> lines_at(LiteralReader reader, std::string_view text) {
  std::vector<std::uint32_t> lines;
  if (!reader.open()) return {};
  bool fresh = true;
  for (const char wanted : text) {
    if (!reader.skip()) return {};
    if (fresh) lines.push_back(reader.line());
    const std::optional<char> got = reader.take();
    if (got != wanted) return {};
    fresh = wanted == '\n';
  }
  if (fresh) lines.push_back(reader.line());
  return reader.skip() || !reader.is_closed() ? std::vector<std::uint32_t>() : lines;
}

constexpr std::size_t k_most_bytes = 4;       // of the file, as in \\x41, for a byte of the text
constexpr std::size_t k_most_between = 1024;  // blanks and comments between strings side by side

/// Parts of the beginning that stand in the file as they are, unless the literal is cut there; the longest
/// first.
std::vector<std::string_view> plain_stretches(std::string_view text) {
  constexpr std::string_view k_escaped{"\\'\"\n\t\r\a\b\f\v\0", 11};
  const std::string_view beginning = text.substr(0, 512);
  std::vector<std::string_view> stretches;
  for (std::size_t at = 0; at < beginning.size(); ++at) {
    const std::size_t end = std::min(beginning.find_first_of(k_escaped, at), beginning.size());
    if (end > at) stretches.push_back(beginning.substr(at, end - at));
    at = end;
  }
  std::ranges::stable_sort(stretches, std::ranges::greater(), &std::string_view::size);
  stretches.resize(std::min<std::size_t>(stretches.size(), 2));
  return stretches;
}

}  // namespace

std::vector<std::uint32_t> lines_of_literal(std::string_view file, std::string_view text,
                                            std::uint32_t near) {
  std::vector<std::uint32_t> best;
  const auto distance = [near](const std::vector<std::uint32_t>& lines) {
    return lines[0] > near ? lines[0] - near : near - lines[0];
  };
  for (const std::string_view plain : plain_stretches(text)) {
    const auto before = static_cast<std::size_t>(plain.data() - text.data());
    const std::size_t most_before = k_most_bytes * before + k_most_between;
    std::size_t counted = 0, tried = 0;  // of the file
    std::uint32_t line = 1;
    for (std::size_t at = 0; (at = file.find(plain, at)) != file.npos; ++at) {
      std::size_t quote = std::max(at > most_before ? at - most_before : 0, tried);
      for (; (quote = file.find_first_of("'\"", quote)) < at; ++quote) {
        const std::string_view passed = file.substr(counted, quote - counted);
        line += static_cast<std::uint32_t>(std::ranges::count(passed, '\n'));
        counted = quote;
        std::vector<std::uint32_t> lines = lines_at(LiteralReader(file, quote, line), text);
        if (!lines.empty() && (best.empty() || distance(lines) < distance(best))) best = std::move(lines);
      }
      tried = at;
    }
    if (!best.empty()) break;
  }
  return best;
}

}  // namespace tarsia::registry
