// Names of symbols as people read them.
#include "base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace tarsia {

std::string readable_symbol(const std::string& symbol) {
  if (!symbol.starts_with("_Z")) return symbol;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return text ? text.get() : symbol;
}

}  // namespace tarsia
