// Looking at a text's tokens without preprocessing it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "clang/Lex/Token.h"

namespace tarsia::jit {

/// Calls `see` with each token and its offset, comments left out; identifiers are raw.
void for_each_raw_token(const std::string& text,
                        const std::function<void(const clang::Token& token, std::size_t offset)>& see);

/// Whether the word stands in the text, outside of comments and strings.
bool has_identifier(const std::string& text, std::string_view word);

/// Whether the text has an identifier of more than some hundred letters.
bool has_long_identifier(const std::string& text);

/// Whether the text has a `#pragma omp` or a `_Pragma("omp …")`.
bool has_openmp_pragma(const std::string& text);

}  // namespace tarsia::jit
