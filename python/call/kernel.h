// tarsia.Kernel: a __global__ function with its overloads; tarsia.KernelLaunch: one with a grid, called by
// vectorcall.
#pragma once

#include <tarsia/c_api.h>

#include "python/core/py.h"

namespace tarsia::python {

/// Makes the types and puts them into the module.
bool add_kernel_types(PyObject* module);

/// A kernel over overloads, in the order in which calls try them. Keeps the library.
PyObject* make_kernel(tarsia_library* library, const tarsia_kernel* const* overloads, size_t n);

}  // namespace tarsia::python
