// Include lines, found line by line.
#include "jit/include_lines.h"

namespace tarsia::jit {

bool any_include(std::string_view text,
                 const std::function<bool(std::string_view name, bool is_angled)>& visit) {
  constexpr std::string_view k_blanks = " \t", k_word = "include";
  for (std::size_t hash = text.find('#'); hash != text.npos; hash = text.find('#', hash + 1)) {
    const std::size_t before = hash == 0 ? text.npos : text.find_last_not_of(k_blanks, hash - 1);
    if (before != text.npos && text[before] != '\n') continue;
    std::size_t at = text.find_first_not_of(k_blanks, hash + 1);
    if (at == text.npos || !text.substr(at).starts_with(k_word)) continue;
    at = text.find_first_not_of(k_blanks, at + k_word.size());
    if (at == text.npos || (text[at] != '"' && text[at] != '<')) continue;
    const bool is_angled = text[at] == '<';
    const std::size_t end = text.find_first_of(is_angled ? ">\n" : "\"\n", at + 1);
    if (end == text.npos || text[end] == '\n') continue;
    if (visit(text.substr(at + 1, end - at - 1), is_angled)) return true;
  }
  return false;
}

bool includes_header(std::string_view text, std::string_view name) {
  if (text.find(name) == text.npos) return false;
  return any_include(text, [&](std::string_view one, bool) { return one == name; });
}

}  // namespace tarsia::jit
