// Words and lines of a text, found without reading it as C++.
#pragma once

#include <tarsia/detail/spelling.h>

#include <cstddef>
#include <string_view>

namespace tarsia::jit {

/// Calls visit(word) for each identifier of a text; those of comments and strings are among them.
template <class Visit>
void for_each_word(std::string_view text, const Visit& visit) {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    while (end < text.size() && detail::is_identifier_part(text[end])) ++end;
    if (end > begin && !detail::is_digit(text[begin])) visit(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

/// Where the line that `at` lies in ends, continuation lines included: at its newline, or at the text's end.
/// A backslash joins lines wherever it stands before a newline, behind another backslash as well.
inline std::size_t end_of_line(std::string_view text, std::size_t at) {
  for (;; ++at) {
    at = text.find('\n', at);
    if (at == text.npos) return text.size();
    std::size_t before = at;
    while (before > 0 && text[before - 1] == '\r') --before;
    if (before == 0 || text[before - 1] != '\\') return at;
  }
}

}  // namespace tarsia::jit
