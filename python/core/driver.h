// The little of CUDA's driver that Python's side needs itself, where a process has loaded it already.
#pragma once

#include <cstdint>

namespace tarsia::python {

/// The GPU that an address belongs to; 0 if that cannot be told.
int32_t device_of_address(const void* address);

/// Whether CUDA has pinned the memory there, so that GPUs may use its address. False if that cannot be told.
bool is_pinned(const void* address);

/// Lets `consumer` wait for the work that stands on `producer`, streams of GPU `device`. Does not block.
/// Gives CUDA's error number.
int let_wait(int32_t device, void* consumer, void* producer);

/// Makes `device` CUDA's current one for the calling thread, if it is not. Gives whether to call
/// leave_device().
bool enter_device(int32_t device);
void leave_device();

}  // namespace tarsia::python
