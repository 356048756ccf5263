// Arguments that the callee may keep after the call.
#pragma once

#include "python/tensor/frame.h"

namespace tarsia::python {

/// A storage over the memory of a view's object, which lives as long. Holds the GIL meanwhile, and needs none
/// when it is released. Null with Tarsia's last error set, and none of Python's.
tarsia_storage* share_argument(const Frame& frame, const tarsia_tensor* argument);

}  // namespace tarsia::python
