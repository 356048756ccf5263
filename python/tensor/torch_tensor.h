// PyTorch's tensors as the objects that they are, for functions that take and return at::Tensor.
#pragma once

#include <tarsia/abi.h>

#include "python/core/py.h"

namespace tarsia::python {

/// The c10::TensorImpl of a torch.Tensor, borrowed from it. Null without an error if the object is none; null
/// with an error set if it gives no handle.
void* torch_handle(PyObject* object);

/// The torch.Tensor of a result that carries one: the object that the caller gave, if the function returned
/// it. Takes over the reference, also on failure; null with an error set then.
PyObject* torch_object(tarsia_storage* stolen);

}  // namespace tarsia::python
