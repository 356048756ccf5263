// Lambdas that a source marks __device__, as Clang's host half takes them.
#pragma once

#include <string>

namespace tarsia::jit {

/// Renames the __device__ of lambdas to __tarsiaL_, a macro of the same length that is __host__ __device__.
///
/// The host makes the closure's type, and its code may ask what a call of it returns. There, the functions of
/// CUDA's headers have no attributes (jit/worker/source/host_headers/tarsia_cuda_host.h), so a lambda that is
/// the device's alone could call none of them.
void mark_device_lambdas(std::string& text);

}  // namespace tarsia::jit
