// The `#include` lines of a text, found without reading it as C++.
#pragma once

#include <functional>
#include <string_view>

namespace tarsia::jit {

/// Calls visit(name, is_angled) for the text's `#include` lines until it returns true. Returns whether it
/// has. Lines within comments count. Lines that macros make do not.
bool any_include(std::string_view text,
                 const std::function<bool(std::string_view name, bool is_angled)>& visit);

/// Whether the text has an `#include` of a header by this name. It may stand in a comment.
bool includes_header(std::string_view text, std::string_view name);

}  // namespace tarsia::jit
