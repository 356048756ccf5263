// tarsia.Op and tarsia.BoundOp: registered operations, looked up and bound.
#pragma once

#include <tarsia/c_api.h>

#include "py.h"

namespace tarsia::python {

/// Makes the types and puts them into the module.
bool add_op_types(PyObject* module);

/// Looks an op up; null with an error set.
PyObject* find_op(const char* name);

}  // namespace tarsia::python
