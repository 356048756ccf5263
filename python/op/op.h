// tarsia.Op and tarsia.BoundOp: registered operations, looked up and bound.
#pragma once

#include <tarsia/c_api.h>

#include "python/core/owned.h"
#include "python/core/py.h"

namespace tarsia::python {

/// Makes the types and puts them into the module.
bool add_op_types(PyObject* module);

/// Looks an op up; null with an error set.
PyObject* find_op(const char* name);

/// Lets calls of ops with an argument of this type go to add(op, inputs, attributes) instead, with a tuple
/// and a dict: the type of a graph's values. Keeps both.
void set_graph_value(PyObject* type, PyObject* add);

/// The registered op that a tarsia.Op now stands for. Empty with an error set if it is gone, or if the
/// object is no Op.
OpRef registered_op(PyObject* op);

}  // namespace tarsia::python
