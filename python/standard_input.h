// What the C and C++ code of this process reads from standard input, given by a function of Python.
#pragma once

#include <nanobind/nanobind.h>

namespace tarsia::python {

void add_standard_input(nanobind::module_& module);

}  // namespace tarsia::python
