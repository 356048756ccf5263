// Names of symbols as people read them.
#pragma once

#include <string>

namespace tarsia {

/// What C++ calls a symbol: "f(int)" for "_Z1fi". Names of C are what they are: a variable `i` is no int.
std::string readable_symbol(const std::string& symbol);

}  // namespace tarsia
