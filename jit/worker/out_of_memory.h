// What the worker does when an allocation fails.
#pragma once

namespace tarsia::jit {

/// From here on, an allocation that fails ends this process with k_exit_out_of_memory, and the client makes a
/// ResourceLimit of that. An exception would pass through Clang, LLVM and LLD, which are built without
/// exceptions: their frames clean nothing up, so that what is unwound next crashes or waits forever.
void leave_when_out_of_memory();

}  // namespace tarsia::jit
