// Numbers and sizes that environment variables set.
#pragma once

#include <cstdint>

namespace tarsia {

/// The whole number that a variable asks for; `otherwise` if it is unset or empty. Throws ArgumentError (a
/// wrong value) for anything else and for more than `most`; its text says that it is no `what` ("size"), a
/// number of `unit` ("mebibytes"), and what 0 means ("no limit").
std::uint64_t number_setting(const char* variable, std::uint64_t otherwise, std::uint64_t most,
                             const char* what, const char* unit, const char* zero);

/// The bytes that a variable asks for in mebibytes ("4096"); `otherwise` mebibytes if it is unset or empty. 0
/// asks for no limit. Throws ArgumentError (a wrong value) for anything but a whole number.
std::uint64_t size_setting(const char* variable, std::uint64_t otherwise);

}  // namespace tarsia
