// Kernels of a loaded library: launching them, and what they need of a GPU.
#pragma once

#include <tarsia/c_api.h>

#include <span>

namespace tarsia::registry {

/// Launches with arguments that are checked and converted as the descriptor says: `values` has one for each
/// parameter. A negative `launch.device` is that of the stream, else CUDA's current. Throws ArgumentError for
/// extents and sizes that the GPU or the kernel does not allow, CudaError, Unsupported.
void launch_values(const tarsia_kernel& kernel, const tarsia_launch& launch, const tarsia_value* values);

/// Checks and converts the arguments first. A context must be current.
void launch_kernel(const tarsia_kernel& kernel, const tarsia_launch& launch,
                   std::span<const tarsia_value> args);

/// By the driver on a GPU; for device -1 on the current one, or by the cubin for the newest architecture
/// where there is none. Throws CudaError, NotFound.
tarsia_kernel_attributes attributes_of(const tarsia_kernel& kernel, int device);

/// Blocks that one multiprocessor holds at once. Throws CudaError.
tarsia_occupancy occupancy_of(const tarsia_kernel& kernel, int device, unsigned threads,
                              unsigned shared_bytes);

/// The block that fills a GPU best, of at most `limit` threads if that is not 0. Throws CudaError.
unsigned suggested_block(const tarsia_kernel& kernel, int device, unsigned shared_bytes, unsigned limit);

}  // namespace tarsia::registry
