// How far the includes reach with which a text begins.
#pragma once

#include <cstddef>
#include <string>

namespace tarsia::jit {

/// The offset just behind the line of the last #include that stands before the first declaration and outside
/// of conditionals; or behind the #endif of such a conditional with an #include in it. They end at a #line. 0
/// if there is none.
std::size_t end_of_leading_includes(const std::string& text);

/// Of a text's name: "sub/a.cu" → "sub". Includes in quotes are searched there first.
std::string folder_of(const std::string& name);

}  // namespace tarsia::jit
