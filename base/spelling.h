// How far words are apart, for suggestions.
#pragma once

#include <cstddef>
#include <string_view>

namespace tarsia {

/// Returns how many edits lead from a to b: a letter added, dropped or changed, or two neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns how far a known word may be from a mistyped one to be suggested for it.
constexpr std::size_t suggestion_reach(std::string_view word) {
  return word.size() < 4 ? 1 : word.size() < 7 ? 2 : 3;
}

}  // namespace tarsia
