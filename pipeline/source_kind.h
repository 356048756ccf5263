// A test of a text's words: does it hold CUDA?
#pragma once

#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::pipeline {

/// True when the text, comments and strings left out, has a word or an include that only CUDA knows. A guess:
/// what macros of headers on disk hide is not seen.
bool mentions_cuda(std::string_view text);

enum class Kind {
  host,            ///< no CUDA
  host_with_cuda,  ///< host code that uses CUDA's API
  cuda,
};

/// What a source is. A file's suffix decides where it tells (.cu is CUDA; .c, .cc, .cpp, .cxx are not), else
/// what the file and the virtual headers mention.
Kind kind_of(const std::vector<jit::SourceFile>& files, const std::vector<jit::SourceFile>& headers);

}  // namespace tarsia::pipeline
