// Tensors of the caller's that a function gives another shape.
#pragma once

#include "python/tensor/frame.h"

namespace tarsia::python {

/// Gives an argument of the frame's call another shape: PyTorch's tensors by their resize_. Its view then
/// tells what it is. Returns 0, or a code with the last error set. Takes the GIL.
int32_t resize_argument(Frame& frame, const tarsia_tensor* argument, const int64_t* shape, int32_t ndim);

}  // namespace tarsia::python
