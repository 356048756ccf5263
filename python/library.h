// A library in Python, as the package's Library class holds it, and the functions that make one.
#pragma once

#include <nanobind/nanobind.h>

namespace tarsia::python {

/// Adds LibraryHandle, load, load_inline and compile to the module.
void add_library(nanobind::module_& module);

}  // namespace tarsia::python
