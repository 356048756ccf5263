// Inference without tensors.
#pragma once

#include <tarsia/c_api.h>

#include "python/core/py.h"

namespace tarsia::python {

/// (shapes, dtypes) of inputs and outputs, derived from the known ones of the inputs; with `storages`,
/// which may be null, their storages too. Null with an error set on failure.
PyObject* infer_op(tarsia_op_handle* op, PyObject* shapes, PyObject* dtypes, PyObject* storages,
                   PyObject* names, PyObject* const* attributes);

}  // namespace tarsia::python
