// Which known word a mistyped one may stand for.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia::detail {

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
