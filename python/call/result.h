// Results of calls, as Python objects.
#pragma once

#include <tarsia/c_api.h>

#include "python/tensor/frame.h"

namespace tarsia::python {

/// The object for a result other than a plain scalar or nothing. Takes over the value's tensors, also on
/// failure.
PyObject* object_of_rare(Frame& frame, const tarsia_type& type, const tarsia_value& value);

/// The object for a result; null with an error set on failure.
inline PyObject* object_of(Frame& frame, const tarsia_type& type, const tarsia_value& value) {
  switch (value.kind) {
    case TARSIA_KIND_NONE:
      Py_INCREF(Py_None);
      return Py_None;
    case TARSIA_KIND_INT:
      return type.dtype.code == TARSIA_UINT ? PyLong_FromUnsignedLongLong(value.u)
                                            : PyLong_FromLongLong(value.i);
    case TARSIA_KIND_FLOAT:
      return PyFloat_FromDouble(value.f);
    case TARSIA_KIND_BOOL:
      return PyBool_FromLong(value.i != 0);
    default:
      return object_of_rare(frame, type, value);
  }
}

/// Releases the tensors of a result that nobody takes.
void drop(const tarsia_value& result);

/// A tensor in the framework of the call's first tensor. Without one, a NumPy array on the CPU, or a
/// tarsia.Tensor on a GPU. Takes over the reference.
PyObject* tensor_object(Frame& frame, tarsia_storage* stolen);

}  // namespace tarsia::python
