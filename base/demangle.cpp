// Names of symbols as people read them.
#include "base/demangle.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>

namespace tarsia {

std::string without_suffix(const std::string& symbol) {
  static constexpr std::string_view k_suffixes[] = {"of",       "isra",  "part", "constprop",
                                                    "cold",     "warm",  "llvm", "hot",
                                                    "lto_priv", "clone", "uml",  "specialized"};
  for (std::size_t at = symbol.find('.', 1); at != symbol.npos; at = symbol.find('.', at + 1)) {
    std::string_view word = std::string_view(symbol).substr(at + 1);
    word = word.substr(0, word.find('.'));
    if (word.starts_with("of") && word.size() > 2 && word.find_first_not_of("0123456789", 2) == word.npos)
      word = "of";
    if (std::ranges::find(k_suffixes, word) != std::end(k_suffixes)) return symbol.substr(0, at);
  }
  return symbol;
}

std::string readable_symbol(const std::string& symbol) {
  const std::string name = without_suffix(symbol);
  if (!name.starts_with("_Z")) return name;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text ? text.get() : name;
}

}  // namespace tarsia
