// What words are made of, and which known word a mistyped one may stand for.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia::detail {

// Of ASCII alone, whatever the process's locale says: <cctype> counts bytes of UTF-8 as letters or spaces in
// some.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
/// Whether an identifier may begin with it: a letter or an underscore.
constexpr bool is_identifier_start(char c) {
  return is_letter(c) || c == '_';
}

/// By byte. Every character of a source is looked up, on every look into the cache.
inline constexpr std::array<bool, 256> k_identifier_parts = [] {
  std::array<bool, 256> table{};
  for (std::size_t c = 0; c < 128; ++c)
    table[c] = is_identifier_start(static_cast<char>(c)) || is_digit(static_cast<char>(c));
  return table;
}();
/// Whether it may stand in an identifier: a letter, a digit or an underscore.
constexpr bool is_identifier_part(char c) {
  return k_identifier_parts[static_cast<unsigned char>(c)];
}
/// Whether a text is letters, digits and underscores, and begins with no digit.
constexpr bool is_identifier(std::string_view text) {
  return !text.empty() && is_identifier_start(text[0]) &&
         std::all_of(text.begin(), text.end(), is_identifier_part);
}

/// Returns how many edits lead from a to b: a letter added, dropped or changed, or two neighbours swapped.
inline std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    next[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = std::exchange(row, next);
  }
  return row[b.size()];
}

/// Returns how far a known word may be from a mistyped one to be suggested for it.
constexpr std::size_t suggestion_reach(std::string_view word) {
  return word.size() < 4 ? 1 : word.size() < 7 ? 2 : 3;
}

/// The known word that is nearest to a mistyped one, of those within its reach.
class NearestWord {
 public:
  explicit NearestWord(std::string_view word) : m_word(word), m_least(suggestion_reach(word) + 1) {}
  /// Looks at a known word; the first of equally near ones counts.
  void compare(std::string_view known) { compare(known, m_word); }
  /// The same where only a part of the mistyped word stands for this one.
  void compare(std::string_view known, std::string_view part) {
    if (const std::size_t d = edit_distance(part, known); d < m_least) m_least = d, m_found = known;
  }
  /// Returns it, or "" if none is near.
  const std::string& found() const { return m_found; }

 private:
  std::string m_word, m_found;
  std::size_t m_least;
};

}  // namespace tarsia::detail
