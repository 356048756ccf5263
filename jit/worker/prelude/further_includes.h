// Headers of a request's folders that a prelude may hold.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "jit/worker/prelude/prelude_text.h"

namespace tarsia::jit {

/// What follows `leading_includes` while it can belong to a prelude, too, in the text's order: headers in the
/// request's include folders, macros that headers may ask for, and the headers behind these. Of the text
/// itself, and of small headers that it includes: the includes with which they begin come before them. The
/// first are macros that stand before `leading_includes`, whose headers do not ask for them.
std::vector<PreludeItem> further_includes(const SourceFile& file, const CompileRequest& request);

/// One layer of a prelude.
struct LayerText {
  std::string text;
  std::size_t end = 0;  ///< offset in the source's text behind what this layer and those below replace
};
/// The layers that pay off. A folder's headers have one of their own, so that a change of the last folder's
/// leaves the others. So have those with which a small header begins, so that its change leaves them. `has`
/// tells whether a layer below has met a header.
std::vector<LayerText> layers_of(const std::vector<PreludeItem>& further,
                                 const std::function<bool(const std::string&)>& has,
                                 const CompileRequest& request);

/// The includes with which a CUDA source begins, as far as they are parsed once for all its edits.
struct LeadingPart {
  std::size_t end = 0;  ///< of those of the text itself
  /// Directives, a line each: the includes with which the small header begins that the text includes there.
  std::string begun;

  bool empty() const { return end == 0 && begun.empty(); }
  std::string text(const SourceFile& file) const { return file.text.substr(0, end) + begun; }
};
/// All leading includes (leading_text.h). If those from a small header on are not worth it, they end before
/// that header, and what it begins with counts.
LeadingPart leading_part(const SourceFile& file, const CompileRequest& request);

}  // namespace tarsia::jit
