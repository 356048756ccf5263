// Functions of the CUDA driver that a module binds when it first calls them.
//
// A module that linked libcuda.so.1 could be loaded only where a driver is. So each function of the driver
// that it uses gets a stub in the module, which looks the function up in libcuda.so.1 and goes on to it. What
// happens without a driver, support/driver_support.c says.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace tarsia::jit {

/// Whether a symbol is one of the driver's: `cuInit`, `cuMemAlloc_v2`. NVIDIA's libraries have another letter
/// behind "cu".
bool is_of_driver(std::string_view symbol);

/// Makes an ELF object with a weak stub for each of these functions.
std::string make_driver_stubs(const std::set<std::string>& functions);

}  // namespace tarsia::jit
