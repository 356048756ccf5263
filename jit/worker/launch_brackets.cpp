#include "jit/worker/launch_brackets.h"

#include <algorithm>

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

namespace tarsia::jit {

void join_launch_brackets(std::string& text) {
  bool apart = false;  // most texts are done with here
  for (size_t at = text.find("<<"); at != text.npos && !apart; at = text.find("<<", at + 2))
    apart = at + 2 < text.size() && (text[at + 2] == ' ' || text[at + 2] == '\t' || text[at + 2] == '/');
  for (size_t at = text.find(">>"); at != text.npos && !apart; at = text.find(">>", at + 2))
    apart = at + 2 < text.size() && (text[at + 2] == ' ' || text[at + 2] == '\t' || text[at + 2] == '/');
  if (!apart) return;

  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus14 = language.CPlusPlus17 =
      language.LineComment = language.RawStringLiterals = language.CUDA = true;
  const std::string original = text;
  const char* begin = original.c_str();
  clang::Lexer lexer(clang::SourceLocation::getFromRawEncoding(1), language, begin, begin,
                     begin + original.size());
  auto join = [&](size_t at, size_t last, char bracket) {
    if (original.find('\n', at) < last) return;
    std::fill(text.begin() + at + 2, text.begin() + last + 1, ' ');
    text[at + 2] = bracket;
  };
  bool launching = false;       // between the brackets of a launch
  bool after_operator = false;  // `operator<<` may be followed by its template arguments
  size_t at_shift = text.npos;  // where the token before this one, on this line, begins: << or >>
  clang::tok::TokenKind shift = clang::tok::unknown;
  bool done = false;
  while (!done) {
    clang::Token token;
    done = lexer.LexFromRawLexer(token) || token.is(clang::tok::eof);
    const size_t at = token.getLocation().getRawEncoding() - 1;
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
  }
}

}  // namespace tarsia::jit
