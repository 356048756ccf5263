// How far the includes reach with which a text begins.
#include "jit/worker/prelude/leading_text.h"

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

namespace tarsia::jit {

std::size_t end_of_leading_includes(const std::string& text) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.LineComment = language.RawStringLiterals = true;
  const char* begin = text.c_str();
  clang::Lexer lexer(clang::SourceLocation::getFromRawEncoding(1), language, begin, begin,
                     begin + text.size());
  const auto offset_of = [](const clang::Token& token) { return token.getLocation().getRawEncoding() - 1; };

  std::size_t end = 0;
  int depth = 0;          // of conditionals
  bool includes = false;  // since the last place at depth 0
  clang::Token token;
  bool last = lexer.LexFromRawLexer(token);
  while (!last && token.is(clang::tok::hash) && token.isAtStartOfLine()) {
    last = lexer.LexFromRawLexer(token);
    if (token.isNot(clang::tok::raw_identifier)) break;  // "# 1" among others, which is a #line
    const llvm::StringRef directive = token.getRawIdentifier();
    if (directive == "line") break;
    std::size_t line_end = offset_of(token) + token.getLength();
    while (!last) {
      last = lexer.LexFromRawLexer(token);
      if (token.isAtStartOfLine() || token.is(clang::tok::eof)) break;
      line_end = offset_of(token) + token.getLength();
    }
    includes |= directive == "include" || directive == "include_next" || directive == "import";
    depth += directive.starts_with("if");
    depth -= directive == "endif";
    if (depth < 0) break;
    if (depth > 0 || !includes) continue;
    // A comment may begin on this line and end on another. The line is then left to the rest.
    const std::size_t newline = text.find('\n', line_end);
    if (newline == text.npos || text.find("/*", line_end) < newline) break;
    end = newline + 1;
    includes = false;
  }
  return end;
}

std::string folder_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == name.npos ? std::string() : name.substr(0, slash);
}

}  // namespace tarsia::jit
