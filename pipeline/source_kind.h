// A test of a text's words: does it hold CUDA?
#pragma once

#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::pipeline {

/// Whether the text has a word or an include that only CUDA knows, outside of comments and strings. This is
/// a guess: it does not see what macros of headers on disk hide.
bool mentions_cuda(std::string_view text);

enum class SourceKind {
  host,            ///< no CUDA
  host_with_cuda,  ///< host code that uses CUDA's API
  cuda,
};

/// The kind of a source. A file's suffix decides if it says a language (jit/source_suffix.h). Otherwise the
/// words of the file and the virtual headers decide.
SourceKind kind_of(const std::vector<jit::SourceFile>& files, const std::vector<jit::SourceFile>& headers);

}  // namespace tarsia::pipeline
