// Names of symbols as people read them.
#pragma once

#include <string>

namespace tarsia {

/// The symbol without what compilers append to tell a part or a copy of a function from others, such as
/// ".cold", ".isra.0", or Tarsia's own ".of0": the functions of that number's unit, which two objects share.
std::string without_suffix(const std::string& symbol);

/// What C++ calls a symbol: "f(int)" for "_Z1fi" and "_Z1fi.cold". Names of C are what they are: a variable
/// `i` is no int.
std::string readable_symbol(const std::string& symbol);

}  // namespace tarsia
