// The text of a source's prelude: the includes with which the source begins.
#pragma once

#include <cstddef>
#include <functional>
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

/// What follows `leading_includes` while it can belong to a prelude, too: headers in the request's include
/// folders, macros that headers may ask for, and the headers behind these. Of the text itself alone.
struct FurtherIncludes {
  /// In the text's order: includes as above, and directives that define or undefine macros, whole. The first
  /// are macros that stand before `leading_includes`, whose headers do not ask for them.
  struct Item {
    std::string text;
    std::string folder;   ///< of the request, in which the header is found; empty: another header, or a macro
    std::size_t end = 0;  ///< offset behind it in the text
  };
  std::vector<Item> items;
};
FurtherIncludes further_includes(const SourceFile& file, const CompileRequest& request);

/// One layer of a prelude.
struct LayerText {
  std::string text;
  std::size_t end = 0;  ///< offset in the source's text behind what this layer and those below replace
};
/// The layers that pay off. A folder's headers have one of their own, so that a change of the last folder's
/// leaves the others. `has` tells whether a layer below has met a header.
std::vector<LayerText> layers_of(const FurtherIncludes& further,
                                 const std::function<bool(const std::string&)>& has,
                                 const CompileRequest& request);

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
