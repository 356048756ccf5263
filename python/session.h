// Sessions of cells, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace tarsia::python {

/// Adds tarsia._tarsia.SessionHandle.
void add_session(nanobind::module_& module);

}  // namespace tarsia::python
