// Variables in device memory as tensors.
#pragma once

#include <tarsia/abi.h>

#include "registry/library/library.h"

namespace tarsia::registry {

/// A storage over a variable on a GPU (-1: the current one), with one reference. It keeps the library.
/// Throws CudaError, NotFound.
tarsia_storage* open_global(Library& library, const tarsia_global& global, int device);

}  // namespace tarsia::registry
