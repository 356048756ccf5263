// tarsia.Expression: the result of tarsia.elementwise and tarsia.reduction. A call deduces the types, takes
// the function compiled for them, and calls it with the tensors unchanged.
#pragma once

#include <nanobind/nanobind.h>

namespace tarsia::python {

/// Makes the type, and adds make_expression to the module. False with an error set on failure.
bool add_expression(nanobind::module_& module);

}  // namespace tarsia::python
