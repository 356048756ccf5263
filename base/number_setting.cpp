// Reads a setting that is a whole number.
#include "base/number_setting.h"

#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"

namespace tarsia {

std::uint64_t number_setting(const NumberSetting& setting) {
  const char* set = std::getenv(setting.variable);
  const std::string_view text = set ? set : "";
  if (text.empty()) return setting.otherwise;
  std::uint64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < setting.least || number > setting.most)
    throw ArgumentError::value_error("the environment variable " + std::string(setting.variable) + " is '" +
                                     std::string(text) + "', which is no " + setting.what + ": set it to " +
                                     setting.wanted + ", or unset it");
  return number;
}

std::uint64_t size_setting(const char* variable, std::uint64_t otherwise) {
  const std::string wanted =
      "a whole number of mebibytes (" + std::to_string(otherwise) + "; 0 for no limit)";
  return number_setting({.variable = variable,
                         .otherwise = otherwise,
                         .least = 0,
                         .most = ~std::uint64_t{0} >> 20,
                         .what = "size",
                         .wanted = wanted.c_str()})
         << 20;
}

}  // namespace tarsia
