// The callees of tarsia.jax as Python objects.
#pragma once

#include <nanobind/nanobind.h>

namespace tarsia::python {

void add_jax(nanobind::module_& module);

}  // namespace tarsia::python
