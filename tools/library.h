// A library that the command loaded.
#pragma once

#include <tarsia/c_api.h>

#include <string>
#include <vector>

#include "tools/sources.h"

namespace tarsia::tools {

/// Its main, or null.
const tarsia_function* find_main(const tarsia_library* library);

/// Calls main with the arguments, the program's name first, and gives the exit code.
int call_main(const tarsia_function* main, const std::vector<std::string>& arguments);

/// Prints its functions, kernels and ops with their signatures and places, and what was left out and why.
void print_listing(const tarsia_library* library, const std::string& title, const Sources& sources);

}  // namespace tarsia::tools
