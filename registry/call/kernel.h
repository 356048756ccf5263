// Kernels of a loaded library: their launch, and their needs of a GPU.
#pragma once

#include <tarsia/c_api.h>

#include <span>

namespace tarsia::registry {

/// Launches with arguments that are checked and converted as the descriptor says; `values` has one for each
/// parameter. A negative `launch.device` stands for the stream's GPU, else CUDA's current one. Throws
/// ArgumentError for extents and sizes that the GPU or the kernel does not allow, CudaError, and
/// Unsupported.
void launch_values(const tarsia_kernel& kernel, const tarsia_launch& launch, const tarsia_value* values);

/// Checks and converts the arguments first. A context must be current.
void launch_kernel(const tarsia_kernel& kernel, const tarsia_launch& launch,
                   std::span<const tarsia_value> args);

/// From the driver for a GPU. Device -1 stands for the current GPU, or without one for the newest
/// architecture's cubin. Throws CudaError, NotFound.
tarsia_kernel_attributes attributes_of(const tarsia_kernel& kernel, int device);

/// The number of blocks that one multiprocessor holds at once. Throws CudaError.
tarsia_occupancy occupancy_of(const tarsia_kernel& kernel, int device, unsigned threads,
                              unsigned shared_bytes);

/// The block that fills a GPU best, of at most `limit` threads if that is not 0. Throws CudaError.
unsigned suggested_block(const tarsia_kernel& kernel, int device, unsigned shared_bytes, unsigned limit);

}  // namespace tarsia::registry
