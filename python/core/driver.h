// The few functions of CUDA's driver that Python's side needs itself, if the process has loaded the driver.
#pragma once

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

/// Makes `device` CUDA's current one for the calling thread if it is not. Returns whether the caller must
/// call leave_device().
bool enter_device(int32_t device);
void leave_device();

}  // namespace tarsia::python
