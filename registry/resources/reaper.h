// Work that waits until GPUs are idle enough: unmapping code whose kernels may be under way, freeing memory.
#pragma once

#include <functional>

namespace tarsia::registry {

/// Runs `then` on a thread of Tarsia's own, once the GPU (-1: all GPUs in use) has done all work given to
/// it before this call. Does not wait. At exit of the process, pending work is dropped. Throws bad_alloc or
/// std::system_error.
void when_idle(int device, std::function<void()> then);

/// Waits, for at most `milliseconds`, until nothing is pending. Returns whether that is so. For tests, and
/// for programs that want their libraries gone.
bool drain_reaper(int milliseconds);

}  // namespace tarsia::registry
