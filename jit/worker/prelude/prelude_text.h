// The text of a source's prelude: the includes with which the source begins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// The `#include <…>` directives with which the text begins, up to the first declaration or other directive
/// (definitions of macros that no header knows aside), and up to the first header that is not the system's,
/// Tarsia's or CUDA's; if that is one of the source's own, with those that it begins with. Each as "<name>"
/// or "\"name\"".
std::vector<std::string> leading_includes(const SourceFile& file, const CompileRequest& request);

/// Leading includes, as the prelude of a C++ source takes them.
struct PreludeText {
  /// Headers in the first run of those whose order cannot matter: sorted, each once, as "<name>".
  std::vector<std::string> free;
  /// The others, in the text's order.
  std::vector<std::string> ordered;
};
PreludeText prelude_text(const std::vector<std::string>& includes);

/// The headers for which a CUDA source is given a layer each: those that are not cheap, in an order of our
/// own, in which CUDA's and the most used come first. Up to the first whose order may matter.
std::vector<std::string> cuda_layers(const std::vector<std::string>& includes);

/// One directive a line.
std::string directives(const std::vector<std::string>& includes);

/// A function that nobody calls, which uses these headers' templates as programs do most often: what Clang
/// instantiates for it in a prelude, it need not instantiate in every source. Empty for most headers.
std::string warm_up_of(const std::vector<std::string>& includes);

/// Whether Clang takes less time to read these headers than to load a prelude of them.
bool are_cheap(const std::vector<std::string>& includes);

}  // namespace tarsia::jit
