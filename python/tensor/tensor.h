// tarsia.Tensor: a tensor of Tarsia's own in Python, on the CPU or a GPU, that speaks DLPack.
#pragma once

#include "python/core/py.h"
#include "python/tensor/dlpack.h"

namespace tarsia::python {

/// The type; null before add_tensor_type().
PyTypeObject* tensor_type();

/// Makes the type and puts it into the module.
bool add_tensor_type(PyObject* module);

/// A tarsia.Tensor over a reference to a storage. Takes over the reference, even on failure. Its elements
/// are written on `stream`.
PyObject* wrap_storage(tarsia_storage* stolen, void* stream);

/// The storage of a tarsia.Tensor, borrowed.
tarsia_storage* storage_of(PyObject* tensor);

/// Adds a reference, or releases one.
void retain(tarsia_storage* storage);
void release(tarsia_storage* storage);

/// A storage over a DLPack tensor. Takes over the tensor.
tarsia_storage* storage_over(dlpack::Managed* stolen, int32_t framework);

/// The reverse. Takes over a reference. A storage that storage_over made and nobody else holds gives back
/// its DLPack tensor.
dlpack::Managed* managed_over(tarsia_storage* stolen);

}  // namespace tarsia::python
