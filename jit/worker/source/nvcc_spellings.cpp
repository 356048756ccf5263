// The scanner that completes launches and main.
//
// Work-around: Clang takes no function without a type.
// Trigger: `main() { … }`, which nvcc and g++ take. Symptom: "a type specifier is required for all
// declarations". So `int` is written before it, and what stands behind it on the line moves by four columns.
// Removal: Clang takes it in C++.
//
// Work-around: Clang takes no braces as a launch's grid or block.
// Trigger: `k<<<n, {16, 16}>>>(x)`, which nvcc takes. Symptom: "expected expression". So their type is
// written before them, and what stands behind them on the line moves by four columns. Removal: Clang's parser
// takes initialiser lists there.
//
// Work-around: Clang knows the brackets of a launch only in one piece.
// Trigger: a source with `k << <1, 1 >> >(x)`, which nvcc takes. Symptom: Clang refuses it.
// Removal: Clang's lexer, or its parser, takes brackets that stand apart.
#include "jit/worker/source/nvcc_spellings.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "jit/worker/source/raw_tokens.h"

namespace tarsia::jit {
namespace {

// Most texts need no more than this.
bool may_be_apart(const std::string& text, const char* shift) {
  for (size_t at = text.find(shift); at != text.npos; at = text.find(shift, at + 2))
    if (at + 2 < text.size() && (text[at + 2] == ' ' || text[at + 2] == '\t' || text[at + 2] == '/'))
      return true;
  return false;
}

// Whether there is a brace between the brackets of a launch.
bool may_have_braces(const std::string& text) {
  for (size_t at = text.find("<<<"); at != text.npos; at = text.find("<<<", at + 3)) {
    const size_t end = std::min(text.find(">>>", at), text.size());
    if (text.find('{', at) < end) return true;
  }
  return false;
}

}  // namespace

void name_braced_launches(std::string& text) {
  if (!may_have_braces(text)) return;
  std::vector<size_t> braces;
  bool launching = false;
  bool begins = false;  // the next token is an argument's first
  int depth = 0, argument = 0;
  for_each_raw_token(text, [&](const clang::Token& token, size_t at) {
    if (token.is(clang::tok::lesslessless)) {
      launching = begins = true;
      depth = argument = 0;
      return;
    }
    if (!launching) return;
    if (token.is(clang::tok::greatergreatergreater)) launching = false;
    if (token.is(clang::tok::l_brace) && begins && argument < 2) braces.push_back(at);
    begins = depth == 0 && token.is(clang::tok::comma);
    argument += begins;
    depth += token.isOneOf(clang::tok::l_paren, clang::tok::l_brace, clang::tok::l_square);
    depth -= token.isOneOf(clang::tok::r_paren, clang::tok::r_brace, clang::tok::r_square);
  });
  for (auto at = braces.rbegin(); at != braces.rend(); ++at) text.insert(*at, "dim3");
}

void type_main(std::string& text) {
  if (text.find("main") == text.npos) return;
  constexpr size_t k_nowhere = std::string::npos;
  size_t untyped = k_nowhere;  // the main, behind the end of a declaration, that the token before this one is
  std::vector<size_t> found;
  int depth = 0;
  std::vector<int> depths;  // before each #if that is open: its branches begin alike
  bool in_directive = false, names_directive = false;
  bool ended = true;  // whether the declaration before this token has ended
  for_each_raw_token(text, [&](const clang::Token& token, size_t at) {
    if (token.isAtStartOfLine()) {
      in_directive = names_directive = token.is(clang::tok::hash);
      if (in_directive) return;
    }
    if (std::exchange(names_directive, false) && token.is(clang::tok::raw_identifier)) {
      const llvm::StringRef name = token.getRawIdentifier();
      if (name.starts_with("if")) depths.push_back(depth);
      if (name.starts_with("el") && !depths.empty()) depth = depths.back();
      if (name == "endif" && !depths.empty()) depths.pop_back();
    }
    if (in_directive) return;
    if (token.is(clang::tok::l_paren) && untyped != k_nowhere) found.push_back(untyped);
    const bool is_main = token.is(clang::tok::raw_identifier) && token.getRawIdentifier() == "main";
    untyped = is_main && ended && depth == 0 ? at : k_nowhere;
    depth += token.is(clang::tok::l_brace);
    depth -= token.is(clang::tok::r_brace);
    ended = token.isOneOf(clang::tok::r_brace, clang::tok::semi);
  });
  for (auto at = found.rbegin(); at != found.rend(); ++at) text.insert(*at, "int ");
}

void join_launch_brackets(std::string& text) {
  if (!may_be_apart(text, "<<") && !may_be_apart(text, ">>")) return;
  const std::string original = text;
  auto join = [&](size_t at, size_t last, char bracket) {
    if (original.find('\n', at) < last) return;
    std::fill(text.begin() + at + 2, text.begin() + last + 1, ' ');
    text[at + 2] = bracket;
  };
  bool launching = false;       // between the brackets of a launch
  bool after_operator = false;  // `operator<<` may be followed by its template arguments
  size_t at_shift = text.npos;  // where the token before this one, on this line, begins: << or >>
  clang::tok::TokenKind shift = clang::tok::unknown;
  for_each_raw_token(original, [&](const clang::Token& token, size_t at) {
    const bool follows = at_shift != text.npos && !token.isAtStartOfLine();
    if (follows && shift == clang::tok::lessless && token.is(clang::tok::less)) {
      join(at_shift, at, '<');
      launching = true;
    } else if (follows && shift == clang::tok::greatergreater && token.is(clang::tok::greater) && launching) {
      join(at_shift, at, '>');
      launching = false;
    }
    if (token.is(clang::tok::lesslessless)) launching = true;
    if (token.is(clang::tok::greatergreatergreater)) launching = false;
    const bool opens = token.is(clang::tok::lessless) && !after_operator;
    const bool closes = token.is(clang::tok::greatergreater);
    at_shift = opens || closes ? at : text.npos;
    shift = token.getKind();
    after_operator = token.is(clang::tok::raw_identifier) && token.getRawIdentifier() == "operator";
  });
}

}  // namespace tarsia::jit
