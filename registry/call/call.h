// Calling exported functions with arguments that are still to be checked and converted: the path of C and C++
// programs, and of JAX.
#pragma once

#include <tarsia/c_api.h>

#include <cstdint>
#include <span>

namespace tarsia::registry {

/// Calls the first overload that takes the arguments exactly, else the first that takes them. A context must
/// be current; its device is set. Gives the code of the function; throws ArgumentError if no overload fits,
/// CudaError.
std::int32_t call_function(std::span<const tarsia_function* const> overloads,
                           std::span<const tarsia_value> args, tarsia_value& result);

/// Throws CudaError that says what is missing if no GPU can be used and the function's library links the CUDA
/// runtime.
void require_gpu(const tarsia_function& function);

/// Throws CudaError for what a function's launches left in the CUDA runtime, and clears it there. Waits for
/// nothing, and does not initialise CUDA.
void check_launches(const tarsia_function& function);

}  // namespace tarsia::registry
