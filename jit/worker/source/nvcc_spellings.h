// Texts that nvcc takes and Clang does not, completed before Clang reads them.
#pragma once

#include <string>

namespace tarsia::jit {

/// Joins the brackets of launches that are written apart, `k << <1, 1 >> >(x)`, which nvcc takes. It joins
/// them in place, so that everything else stays in its column. Comments, strings and `operator<< <T>` stay
/// as they are.
void join_launch_brackets(std::string& text);

/// Writes dim3 before the braces of a grid or block, `k<<<n, {16, 16}>>>(x)`.
void name_braced_launches(std::string& text);

/// Writes int before a `main` that has no type.
void type_main(std::string& text);

}  // namespace tarsia::jit
