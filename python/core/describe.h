// Signatures of functions and ops, and attributes, as plain Python objects. The modules that make PyTorch's
// schemas and JAX's calls use them.
#pragma once

#include <tarsia/op_abi.h>

#include "python/core/py.h"

namespace tarsia::python {

/// (name, flags, number of required parameters, ((name, type), …), type of the result). A type is
/// (kind, flags, dtype or None, (types of the elements, …)), with the numbers of <tarsia/abi.h>.
PyObject* describe_function(const tarsia_function& function);

/// A bool, int, float, str (bytes that are no UTF-8 as surrogate escapes), a tuple of them, or None.
PyObject* value_object(const tarsia_value& value);

/// A dict: "flags"; "inputs" and "outputs", each ((name, flags), …); "attributes", ((name, flags, type,
/// default, choices), …) where the default is a tuple of the value, empty without one; "implementations",
/// ((device type, pass, takes sparse tensors), …); "arity", "infer", "state", "names_inputs": whether the op
/// has such a function.
PyObject* describe_op(const tarsia_op& op);

/// ((name, flags), …).
PyObject* describe_ports(const tarsia_port* ports, uint32_t n);

}  // namespace tarsia::python
