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

}  // namespace tarsia::jit
