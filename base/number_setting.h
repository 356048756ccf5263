// Numbers and sizes that environment variables set.
#pragma once

#include <cstdint>

namespace tarsia {

/// A number that an environment variable sets.
struct NumberSetting {
  const char* variable;
  std::uint64_t otherwise;  ///< where it is unset or empty
  std::uint64_t least, most;
  const char* what;    ///< "size": what a wrong value is not
  const char* wanted;  ///< "a whole number of mebibytes (0 for no limit)": what to set
};

/// Throws ArgumentError (a wrong value), which names the variable and what to set, for what is no such
/// number.
std::uint64_t number_setting(const NumberSetting& setting);

/// The bytes that a variable asks for in mebibytes ("4096"); `otherwise` mebibytes if it is unset or empty. 0
/// asks for no limit. Throws ArgumentError (a wrong value) for anything but a whole number.
std::uint64_t size_setting(const char* variable, std::uint64_t otherwise);

}  // namespace tarsia
