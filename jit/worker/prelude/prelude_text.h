// The text of a source's prelude: the includes with which the source begins.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// A directive that can belong to a prelude.
struct PreludeItem {
  std::string text;    ///< an include as "<name>" or "\"name\"", or a directive on a macro, whole
  std::string folder;  ///< of the request, in which the header is found; empty: another header, or a macro
  /// Offsets in the source's text before and behind it. What a header begins with has none there: both are
  /// those before the header.
  std::size_t begin = 0, end = 0;
  bool is_light = false;  ///< a header of the author's, whose own includes are items before it
};

/// The `#include <…>` directives with which a text begins. They end at the first declaration or other
/// directive (save definitions of macros that no header knows), and at the first header that is not of the
/// system, Tarsia or CUDA. If that is one of the source's own, in the request or small and in its folders,
/// its leading includes count, too.
struct LeadingIncludes {
  std::vector<std::string> includes;  ///< each as "<name>" or "\"name\""
  std::vector<PreludeItem> macros;    ///< what stands between them in the text itself
  /// Where further ones may follow in the text itself; npos if they may not.
  std::size_t end = std::string::npos;
};
LeadingIncludes leading_includes(const SourceFile& file, const CompileRequest& request);

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
