// Copies and pickles of what never changes: functions, kernels, launches, ops.
#pragma once

#include "python/core/py.h"

namespace tarsia::python {

/// __copy__ and __deepcopy__: the object itself.
PyObject* copy_itself(PyObject* self, PyObject*);

/// __reduce__: what tarsia._compile.recipe.reduced(self) gives.
PyObject* reduce(PyObject* self, PyObject*);

}  // namespace tarsia::python

/// The entries of a type's table of methods.
#define TARSIA_PICKLING_METHODS                                                                      \
  {"__copy__", copy_itself, METH_NOARGS, nullptr}, {"__deepcopy__", copy_itself, METH_O, nullptr}, { \
    "__reduce__", reduce, METH_NOARGS, nullptr                                                       \
  }
