// Graphs of ops, for Python.
#pragma once

#include <nanobind/nanobind.h>

namespace tarsia::python {

/// Adds tarsia._tarsia.GraphHandle, and functions of plans.
void add_graph(nanobind::module_& module);

}  // namespace tarsia::python
