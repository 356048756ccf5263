// Finds comments that are not UTF-8 and replaces their invalid bytes.
#include "tools/plain_comments.h"

#include <string_view>

namespace tarsia::tools {
namespace {

/// Whether each lead byte is followed by as many bytes as it announces. This is not a full test of UTF-8.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i++]);
    if (lead < 0x80) continue;
    int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4) return false;
    for (; more > 0; --more, ++i)
      if (i == text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return false;
  }
  return true;
}

/// Returns the place after the end of the line. A backslash continues the line.
std::size_t line_end(std::string_view text, std::size_t at) {
  for (; at < text.size(); ++at) {
    if (text[at] != '\n') continue;
    std::size_t before = at;
    if (before > 0 && text[before - 1] == '\r') --before;
    if (before == 0 || text[before - 1] != '\\') break;
  }
  return at;
}

/// Returns the place after the literal that opens with the quote at `at`.
std::size_t literal_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  if (quote == '"' && at > 0 && text[at - 1] == 'R') {
    const std::size_t open = text.find('(', at);
    if (open == text.npos) return text.size();
    const std::string close = ")" + std::string(text.substr(at + 1, open - at - 1)) + "\"";
    const std::size_t end = text.find(close, open);
    return end == text.npos ? text.size() : end + close.size();
  }
  if (quote == '\'' && at > 0 &&
      std::string_view("0123456789abcdefABCDEF").find(text[at - 1]) != std::string_view::npos)
    return at + 1;  // 1'000'000
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text[at] == quote)
      return at + 1;
  }
  return at;
}

}  // namespace

std::string with_plain_comments(std::string text) {
  if (is_utf8(text)) return text;
  const std::string_view whole = text;
  for (std::size_t at = 0; at < whole.size();) {
    std::size_t end = at + 1;
    if (whole[at] == '"' || whole[at] == '\'') {
      end = literal_end(whole, at);
    } else if (whole.substr(at, 2) == "//" || whole.substr(at, 2) == "/*") {
      if (whole[at + 1] == '/') {
        end = line_end(whole, at);
      } else {
        end = whole.find("*/", at + 2);
        end = end == whole.npos ? whole.size() : end + 2;
      }
      if (!is_utf8(whole.substr(at, end - at)))
        for (std::size_t i = at; i < end; ++i)
          if (static_cast<unsigned char>(text[i]) >= 0x80) text[i] = '?';
    }
    at = end;
  }
  return text;
}

}  // namespace tarsia::tools
