// Lexes texts with Clang's lexer, without a preprocessor.
#include "jit/worker/source/raw_tokens.h"

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"

namespace tarsia::jit {

void for_each_raw_token(const std::string& text,
                        const std::function<void(const clang::Token& token, std::size_t offset)>& see) {
  clang::LangOptions language;
  language.CPlusPlus = language.CPlusPlus11 = language.CPlusPlus14 = language.CPlusPlus17 =
      language.LineComment = language.RawStringLiterals = language.CUDA = true;
  const char* begin = text.c_str();
  clang::Lexer lexer(clang::SourceLocation::getFromRawEncoding(1), language, begin, begin,
                     begin + text.size());
  for (bool last = false; !last;) {
    clang::Token token;
    last = lexer.LexFromRawLexer(token);
    if (token.is(clang::tok::eof)) return;
    see(token, token.getLocation().getRawEncoding() - 1);
  }
}

bool has_identifier(const std::string& text, std::string_view word) {
  if (text.find(word) == text.npos) return false;
  bool found = false;
  for_each_raw_token(text, [&](const clang::Token& token, std::size_t) {
    found |= token.is(clang::tok::raw_identifier) && token.getRawIdentifier() == llvm::StringRef(word);
  });
  return found;
}

}  // namespace tarsia::jit
