// Where declarations lie among the tokens of a file.
#include "jit/worker/split/token_ranges.h"

#include <algorithm>

#include "clang/Basic/TokenKinds.h"

namespace tarsia::jit {

size_t first_at(const Tokens& tokens, uint32_t offset) {
  return std::lower_bound(tokens.begin(), tokens.end(), offset,
                          [](const auto& token, uint32_t at) { return token.begin < at; }) -
         tokens.begin();
}

size_t past(const Tokens& tokens, uint32_t offset) {
  return std::upper_bound(tokens.begin(), tokens.end(), offset,
                          [](uint32_t at, const auto& token) { return at < token.begin; }) -
         tokens.begin();
}

bool one_macro(const Tokens& tokens, size_t begin, size_t end) {
  return end - begin > 1 && tokens[begin].begin == tokens[end - 1].begin;
}

size_t with_macro(const Tokens& tokens, size_t at) {
  size_t end = at + 1;
  while (end < tokens.size() && tokens[end].begin == tokens[at].begin) ++end;
  return end;
}

size_t skip_body(const Tokens& tokens, size_t at) {
  int depth = 0, round = 0;
  // The declarator may end before its exception specification or a constructor's initialisers.
  if (at > 0 && tokens[at - 1].kind == clang::tok::r_brace) return at;
  bool initialisers = false;
  for (; at < tokens.size(); ++at) {
    switch (tokens[at].kind) {
      case clang::tok::l_paren:
        ++round;
        break;
      case clang::tok::r_paren:
        --round;
        break;
      case clang::tok::colon:
        initialisers |= depth == 0 && round == 0;
        break;
      case clang::tok::l_brace:
        ++depth;
        break;
      case clang::tok::r_brace: {
        if (--depth > 0 || round > 0) break;
        // `: a{1}, b{2} {}`: a member's braces are followed by more.
        auto next = at + 1 < tokens.size() ? tokens[at + 1].kind : clang::tok::eof;
        if (initialisers && (next == clang::tok::comma || next == clang::tok::l_brace)) break;
        return at + 1;
      }
      case clang::tok::semi:
        if (depth == 0 && round <= 0) return at;
        break;
      default:
        break;
    }
  }
  return at;
}

size_t closed(const Tokens& tokens, size_t begin, size_t end) {
  int round = 0;
  for (size_t at = begin; at < tokens.size(); ++at) {
    if (at >= end && round <= 0) return at;
    if (at >= end && tokens[at].kind == clang::tok::semi) break;
    if (tokens[at].kind == clang::tok::l_paren) ++round;
    if (tokens[at].kind == clang::tok::r_paren) --round;
  }
  return end;
}

}  // namespace tarsia::jit
