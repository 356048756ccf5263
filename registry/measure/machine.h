// What a time depends on besides the op: the machine that took it.
#pragma once

#include <tarsia/abi.h>

#include <string>

namespace tarsia::registry {

/// A text that differs between machines on which one implementation may be faster than another: of the CPU
/// its model, level, features and how many cores this process may use; of a GPU also its name, compute
/// capability and driver. Throws CudaError.
std::string machine_identity(tarsia_device device);

}  // namespace tarsia::registry
