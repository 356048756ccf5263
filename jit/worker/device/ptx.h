// A reader of PTX: which functions and variables a kernel uses.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::jit {

/// The names that the bodies of these functions mention, and those of the functions that they mention in
/// turn.
std::set<std::string> names_reached(std::string_view ptx, const std::vector<std::string>& functions);

}  // namespace tarsia::jit
