// The configuration of Clang for one translation unit of the user's source.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

enum class Language { c, cxx, cuda };

/// By suffix: .c is C, .cu is CUDA, anything else C++; a file without suffix is what the request says.
Language language_of(const SourceFile& file, bool request_is_cuda);

/// Whether the language of the -std= option is one Tarsia takes ("c++11" … "c++23").
bool known_standard(const std::string& std);

/// The -cc1 arguments. `input` is the virtual path of the main file; `prelude` that of a precompiled
/// prelude, or empty.
std::vector<std::string> clang_arguments(const CompileRequest& request, Language language,
                                         const std::string& input, const std::string& prelude);

/// Folders of the real file system that a compile of this request may read.
std::vector<std::string> readable_roots(const CompileRequest& request);

/// Initialises LLVM's X86 target; any number of times, from one thread.
void initialize_llvm();

}  // namespace tarsia::jit
