// The few functions of CUDA's driver that Python's side needs itself, if the process has loaded the driver.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarsia::python {

/// The GPU that an address belongs to; 0 if the driver does not tell.
int32_t device_of_address(const void* address);

/// Whether CUDA has pinned this memory, so that GPUs may use its address. False if the driver does not
/// tell.
bool is_pinned(const void* address);

/// Makes `consumer` wait for the pending work of `producer`, streams of GPU `device`. Does not block.
/// Returns CUDA's error number.
int let_wait(int32_t device, void* consumer, void* producer);

/// Whether the work of a stream is being captured, so that nobody may wait for it. True if the driver does
/// not tell.
bool is_capturing(void* stream);

/// Copies from the CPU's memory to that of GPU `device`, in the order of one of its streams. Returns CUDA's
/// error number.
int copy_to_gpu(int32_t device, void* stream, void* to, const void* from, size_t bytes);
/// Copies from the memory of GPU `device` to the CPU's, once the work of one of its streams until now is
/// done. Waits for it.
int copy_from_gpu(int32_t device, void* stream, void* to, const void* from, size_t bytes);

/// Makes `device` CUDA's current one for the calling thread if it is not. Returns whether the caller must
/// call leave_device().
bool enter_device(int32_t device);
void leave_device();

}  // namespace tarsia::python
