// Sizes that environment variables set.
#pragma once

#include <cstdint>

namespace tarsia {

/// The bytes that a variable asks for in mebibytes ("4096"); `otherwise` mebibytes if it is unset or empty. 0
/// asks for no limit. Throws ArgumentError (a wrong value) for anything but a whole number.
std::uint64_t size_setting(const char* variable, std::uint64_t otherwise);

}  // namespace tarsia
