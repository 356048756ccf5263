// String literals of Python files.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace tarsia::registry {

/// The line of a Python file at which each line of a string literal begins. Of several literals with this
/// value, the one nearest to the line `near` counts. Strings that stand side by side are one. Empty: there is
/// no such literal, or it is formatted (f"…") or holds \u, \U or \N.
std::vector<std::uint32_t> lines_of_literal(std::string_view file, std::string_view text, std::uint32_t near);

}  // namespace tarsia::registry
