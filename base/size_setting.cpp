// Reads a setting that is a whole number.
#include "base/size_setting.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tarsia {

std::uint64_t number_setting(const char* variable, std::uint64_t otherwise, std::uint64_t most,
                             const char* what, const char* unit, const char* zero) {
  const char* set = std::getenv(variable);
  const std::string_view text = set ? set : "";
  if (text.empty()) return otherwise;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number > most)
    throw ArgumentError::value_error("the environment variable " + std::string(variable) + " is '" +
                                     std::string(text) + "', which is no " + what +
                                     ": set it to a whole number of " + unit + " (" +
                                     std::to_string(otherwise) + "; 0 for " + zero + "), or unset it");
  return number;
}

std::uint64_t size_setting(const char* variable, std::uint64_t otherwise) {
  return number_setting(variable, otherwise, ~std::uint64_t{0} >> 20, "size", "mebibytes", "no limit") << 20;
}

}  // namespace tarsia
