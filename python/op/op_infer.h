// Inference without tensors.
#pragma once

#include <tarsia/c_api.h>

#include <string>

#include "python/core/py.h"

namespace tarsia::python {

/// (n_inputs, n_outputs) of an op with these attributes. Null with an error set.
PyObject* count_op(tarsia_op_handle* op, PyObject* names, PyObject* const* values);

/// (shapes, dtypes) of inputs and outputs, derived from the known ones of the inputs; with `storages`,
/// which may be null, their storages too. Null with an error set on failure.
PyObject* infer_op(tarsia_op_handle* op, PyObject* shapes, PyObject* dtypes, PyObject* storages,
                   PyObject* names, PyObject* const* attributes);

/// Reads a shape and a dtype into a meta; None leaves its part as it is. False with an error set, which
/// begins with `who`.
bool read_meta(const std::string& who, PyObject* shape, PyObject* dtype, tarsia_meta& meta);

}  // namespace tarsia::python
