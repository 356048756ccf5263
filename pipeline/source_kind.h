// Whether a text holds CUDA, from a look at its words.
#pragma once

#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::pipeline {

/// True when the text, comments and strings left out, has a word or an include that only CUDA knows. A guess:
/// what macros of headers on disk hide is not seen.
bool mentions_cuda(std::string_view text);

/// Whether a compiled file is CUDA: by its suffix (.cu yes; .c, .cc, .cpp, .cxx no), else by what it and the
/// virtual headers mention.
bool is_cuda(const jit::SourceFile& file, const std::vector<jit::SourceFile>& headers);

}  // namespace tarsia::pipeline
