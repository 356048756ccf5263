// The names of the headers that every C++ compiler on Linux has.
#pragma once

#include <string_view>
#include <vector>

namespace tarsia::jit {

/// Of the C++ standard library up to C++23, what later standards dropped included, or of C's up to C17. They
/// may be included in any order and any number of times ([using.headers]; C17, 7.1.2 "Standard headers").
bool is_standard_header(std::string_view name);

/// Of POSIX, those that programs with kernels include; the same holds for them.
bool is_posix_header(std::string_view name);

/// One of these, or a header that glibc, the compiler, OpenMP or MPI brings along beside them.
bool is_system_header(std::string_view name);

/// All of these names.
std::vector<std::string_view> system_headers();

}  // namespace tarsia::jit
