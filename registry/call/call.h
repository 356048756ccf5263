// Calls exported functions with arguments that are not yet checked or converted: the path of C and C++
// programs, and of JAX.
#pragma once

#include <tarsia/c_api.h>

#include <cstdint>
#include <span>

namespace tarsia::registry {

/// Calls the first overload that takes the arguments exactly, else the first that takes them. A context
/// must be current; its device is set. Returns the code of the function. Throws ArgumentError if no
/// overload fits, and CudaError.
std::int32_t call_function(std::span<const tarsia_function* const> overloads,
                           std::span<const tarsia_value> args, tarsia_value& result);

/// Throws CudaError, which says what is missing, if no GPU can be used and the function's library links the
/// CUDA runtime.
void require_gpu(const tarsia_function& function);

/// Throws CudaError for an error that a function's launches left in the CUDA runtime, and clears it there.
/// Does not wait, and does not initialise CUDA.
void check_launches(const tarsia_function& function);

}  // namespace tarsia::registry
