// Where declarations lie among the tokens of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/worker/split/token_recorder.h"

namespace tarsia::jit {

using Tokens = std::vector<TokenRecorder::Token>;

/// The first token that begins at or behind the offset.
size_t first_at(const Tokens& tokens, uint32_t offset);

/// One past the last token that begins at or before the offset.
size_t past(const Tokens& tokens, uint32_t offset);

/// Whether a macro made all of [begin, end): these tokens have the macro's place.
bool one_macro(const Tokens& tokens, size_t begin, size_t end);

/// One past the token, or past all tokens of the macro that makes it.
size_t with_macro(const Tokens& tokens, size_t at);

/// From the end of a declarator past the function's body.
size_t skip_body(const Tokens& tokens, size_t at);

/// Past the brackets that the range opens: the end of a declaration may lie before them.
size_t closed(const Tokens& tokens, size_t begin, size_t end);

}  // namespace tarsia::jit
