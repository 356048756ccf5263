// Words of a text.
#pragma once

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace tarsia::jit {

/// Whether a word stands in a text, and not within another.
inline bool has_word(llvm::StringRef text, llvm::StringRef word) {
  const auto is_part = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1))
    if ((at == 0 || !is_part(text[at - 1])) &&
        (at + word.size() == text.size() || !is_part(text[at + word.size()])))
      return true;
  return false;
}

/// Whether a text has a word of more than some hundred letters.
inline bool has_long_word(llvm::StringRef text) {
  constexpr std::size_t k_long = 500;
  std::size_t length = 0;
  for (const char c : text) {
    length = llvm::isAlnum(c) || c == '_' ? length + 1 : 0;
    if (length > k_long) return true;
  }
  return false;
}

}  // namespace tarsia::jit
