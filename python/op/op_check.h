// Testing ops: the function behind tarsia.testing.
#pragma once

#include <nanobind/nanobind.h>

namespace tarsia::python {

void add_op_check(nanobind::module_& module);

}  // namespace tarsia::python
