// The scanner of assembly statements.
//
// Work-around: Clang wants the percent signs of PTX's names doubled, and commas between operands.
// Trigger: `asm("mov.u32 %0, %clusterid.x;" : "=r"(x))`, and `%8` among eight operands in a template that
// nobody instantiates, and `: "r"(x) "r"(y)`; nvcc takes all of them. Symptom: "invalid % escape in inline
// assembly string", "invalid operand number in inline asm string", "expected ')'". Removal: Clang takes what
// nvcc takes in device code.
#include "jit/worker/nvptx/inline_assembly.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "jit/worker/source/raw_tokens.h"

namespace tarsia::jit {
namespace {

class Scanner {
 public:
  Scanner(const std::string& text, bool counts) : m_text(text), m_counts(counts) {}

  /// Where to put which sign.
  std::vector<std::pair<size_t, char>> run() {
    for_each_raw_token(m_text, [&](const clang::Token& token, size_t at) { take(token, at); });
    return std::move(m_places);
  }

 private:
  enum class State { outside, behind_asm, code, operands };

  void take(const clang::Token& token, size_t at) {
    const std::string_view word = std::string_view(m_text).substr(at, token.getLength());
    if (m_state == State::outside || m_state == State::behind_asm) {
      if (token.is(clang::tok::raw_identifier)) {
        if (word == "asm" || word == "__asm__" || word == "__asm") m_state = State::behind_asm;
      } else if (m_state == State::behind_asm && token.is(clang::tok::l_paren)) {
        m_state = State::code;
        m_depth = 1;
        m_colons = m_operands = 0;
        m_in_name = false;
        m_known = true;
        m_code.clear();
        m_commas.clear();
        m_operand_end = 0;
      } else {
        m_state = State::outside;
      }
      return;
    }
    if (token.is(clang::tok::semi)) {
      m_state = State::outside;
      return;
    }
    if (token.is(clang::tok::hash) && token.isAtStartOfLine()) m_known = false;
    if (token.isOneOf(clang::tok::colon, clang::tok::coloncolon) && m_depth == 1) {
      m_colons += token.is(clang::tok::colon) ? 1 : 2;
      m_state = State::operands;
    } else if (token.is(clang::tok::l_paren)) {
      if (m_depth == 1 && m_state == State::operands && m_colons < 3) ++m_operands;
      ++m_depth;
    } else if (token.is(clang::tok::r_paren)) {
      if (--m_depth == 0) end();
      if (m_depth == 1 && m_state == State::operands) m_operand_end = at + 1;
      return;
    } else if (m_state == State::code) {
      if (token.is(clang::tok::string_literal)) m_code.emplace_back(at, at + token.getLength());
    } else if (m_depth == 1) {
      // A macro may be any number of operands.
      if (token.isOneOf(clang::tok::l_square, clang::tok::r_square))
        m_in_name = token.is(clang::tok::l_square);
      else if (token.is(clang::tok::raw_identifier) && !m_in_name)
        m_known = false;
      // Of the commas and percent signs of a statement, the ones further ahead come first.
      if (token.is(clang::tok::string_literal) && m_operand_end != 0)
        m_commas.emplace_back(m_operand_end, ',');
    }
    m_operand_end = 0;
  }

  void end() {
    if (m_state == State::operands)
      for (auto [begin, end] : m_code) take_code(begin, end);
    if (m_state == State::operands) m_places.insert(m_places.end(), m_commas.begin(), m_commas.end());
    m_state = State::outside;
  }

  void take_code(size_t begin, size_t end) {
    for (size_t i = begin; i + 1 < end; ++i) {
      if (m_text[i] != '%') continue;
      const char next = m_text[i + 1], behind = i + 2 < end ? m_text[i + 2] : '\0';
      if (detail::is_identifier_start(next) ? !detail::is_digit(behind) && behind != '['
                                            : detail::is_digit(next) && is_no_operand(i + 1, end))
        m_places.emplace_back(i, '%');
      ++i;
    }
  }

  bool is_no_operand(size_t at, size_t end) const {
    size_t number = 0;
    for (; at < end && detail::is_digit(m_text[at]) && number < 1000; ++at)
      number = 10 * number + (m_text[at] - '0');
    return m_counts && m_known && number >= m_operands;
  }

  const std::string& m_text;
  const bool m_counts;
  State m_state = State::outside;
  size_t m_depth = 0, m_colons = 0, m_operands = 0;
  bool m_in_name = false;                         // between the brackets of an operand's name
  bool m_known = true;                            // the number of operands is
  std::vector<std::pair<size_t, size_t>> m_code;  // the string literals
  std::vector<std::pair<size_t, char>> m_commas;  // that the statement lacks
  size_t m_operand_end = 0;                       // where the token before ended an operand; else 0
  std::vector<std::pair<size_t, char>> m_places;
};

// Most texts need no more than this.
bool may_need_it(const std::string& text) {
  if (text.find("asm") == text.npos) return false;
  for (size_t at = text.find('"'); at != text.npos; at = text.find('"', at + 1)) {
    const size_t before = at == 0 ? text.npos : text.find_last_not_of(" \t\r\n", at - 1);
    if (before != text.npos && text[before] == ')') return true;
  }
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 1))
    if (at + 1 < text.size() && detail::is_identifier_part(text[at + 1])) return true;
  return false;
}

void adapt(std::string& text, bool counts) {
  if (!may_need_it(text)) return;
  const auto places = Scanner(text, counts).run();
  for (auto at = places.rbegin(); at != places.rend(); ++at) text.insert(at->first, 1, at->second);
}

}  // namespace

void adapt_assembly(std::string& text) {
  adapt(text, /*counts=*/false);
}

void adapt_assembly_of_header(std::string& text) {
  adapt(text, /*counts=*/true);
}

}  // namespace tarsia::jit
