// Lexes texts with Clang's lexer, without a preprocessor.
#include "jit/worker/source/raw_tokens.h"

#include <cctype>

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
