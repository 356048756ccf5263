// LLVM's IR of a library's host code, as `tarsia show --ir` prints it.
#pragma once

#include <functional>
#include <string>

namespace tarsia::tools {

/// Prints the functions of the library's file whose C++ names `is_shown` takes, with the types, variables and
/// constants that they name. False if there is none. Throws std::runtime_error if the file keeps no IR
/// (cflags: -emit-llvm).
bool print_ir(const std::string& path, const std::function<bool(const std::string& name)>& is_shown);

/// What C++ calls a symbol: "f(int)" for "_Z1fi" and "_Z1fi.cold". Names of C stay as they are.
std::string readable_symbol(const std::string& symbol);

}  // namespace tarsia::tools
