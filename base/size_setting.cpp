// Reads a setting that is a number of MiB.
#include "base/size_setting.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tarsia {

std::uint64_t size_setting(const char* variable, std::uint64_t otherwise) {
  constexpr std::uint64_t k_most = ~std::uint64_t{0} >> 20;
  const char* set = std::getenv(variable);
  const std::string_view text = set ? set : "";
  if (text.empty()) return otherwise << 20;
  std::uint64_t megabytes = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, megabytes);
  if (error != std::errc() || stop != end || megabytes > k_most)
    throw ArgumentError::value_error("the environment variable " + std::string(variable) + " is '" +
                                     std::string(text) +
                                     "', which is no size: set it to a whole number of mebibytes (" +
                                     std::to_string(otherwise) + "; 0 for no limit), or unset it");
  return megabytes << 20;
}

}  // namespace tarsia
