// Tensors whose memory a module's own code gives back.
#pragma once

#include <tarsia/abi.h>

namespace tarsia::registry {

/// See tarsia_host.adopt. Throws Error if `destroy` is no function of a loaded module.
tarsia_storage* adopt_tensor(const tarsia_tensor* tensor, void* context, void (*destroy)(void* context));

}  // namespace tarsia::registry
