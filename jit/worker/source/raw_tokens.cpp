// Lexes texts with Clang's lexer, without a preprocessor.
#include "jit/worker/source/raw_tokens.h"

#include <algorithm>
#include <cctype>

#include "clang/Basic/LangOptions.h"
#include "clang/Lex/Lexer.h"
#include "llvm/ADT/StringExtras.h"

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

bool has_long_identifier(const std::string& text) {
  constexpr std::size_t k_long = 500;
  // Tokens take a hundred times as long as this look.
  std::size_t length = 0, longest = 0;
  for (const char c : text) {
    length = llvm::isAlnum(c) || c == '_' ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  if (longest <= k_long) return false;
  bool found = false;
  for_each_raw_token(text, [&](const clang::Token& token, std::size_t) {
    found |= token.is(clang::tok::raw_identifier) && token.getLength() > k_long;
  });
  return found;
}

bool has_openmp_pragma(const std::string& text) {
  // Tokens take a hundred times as long as this look.
  bool perhaps = false;
  for (std::size_t at = text.find("omp"); at != text.npos && !perhaps; at = text.find("omp", at + 1))
    perhaps = at > 0 && (text[at - 1] == '"' || std::isspace(static_cast<unsigned char>(text[at - 1])));
  if (!perhaps) return false;
  bool found = false;
  int seen = 0;  // of # pragma omp, or of _Pragma ( "omp …"
  for_each_raw_token(text, [&](const clang::Token& token, std::size_t offset) {
    const bool is_name = token.is(clang::tok::raw_identifier);
    const llvm::StringRef name = is_name ? token.getRawIdentifier() : llvm::StringRef();
    if (token.is(clang::tok::hash) && token.isAtStartOfLine())
      seen = 1;
    else if (seen == 1 && name == "pragma")
      seen = 2;
    else if (name == "_Pragma")
      seen = 3;
    else if (seen == 3 && token.is(clang::tok::l_paren))
      seen = 4;
    else {
      const llvm::StringRef literal(text.data() + offset, token.getLength());
      found |= (seen == 2 && name == "omp") ||
               (seen == 4 && literal.starts_with("\"") && literal.drop_front().ltrim().starts_with("omp"));
      seen = 0;
    }
  });
  return found;
}

}  // namespace tarsia::jit
