// The text of a source's prelude: the includes with which the source begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// The `#include <…>` directives with which the text begins, each as "<name>" or "\"name\"". They end at
/// the first declaration or other directive (save definitions of macros that no header knows), and at the
/// first header that is not of the system, Tarsia or CUDA. If that is one of the source's own, its leading
/// includes count, too.
std::vector<std::string> leading_includes(const SourceFile& file, const CompileRequest& request);

/// Leading includes, as the prelude of a C++ source takes them.
struct PreludeText {
  /// Headers of the first run of those whose order cannot matter: sorted, each once, as "<name>".
  std::vector<std::string> free;
  /// The others, in the text's order.
  std::vector<std::string> ordered;
};
PreludeText prelude_text(const std::vector<std::string>& includes);

/// The headers that get a layer each for a CUDA source: those that are not cheap, up to the first whose
/// order may matter. The order is our own: CUDA's and the most used come first.
std::vector<std::string> cuda_layers(const std::vector<std::string>& includes);

/// One directive a line.
std::string directives(const std::vector<std::string>& includes);

/// A function that nobody calls and that uses these headers' templates as most programs do. Clang
/// instantiates them once in the prelude, and not in every source. Empty for most headers.
std::string warm_up_of(const std::vector<std::string>& includes);

/// Whether Clang takes less time to read these headers than to load a prelude of them.
bool are_cheap(const std::vector<std::string>& includes);

}  // namespace tarsia::jit
