// Asks the package how to pickle.
#include "python/core/pickling.h"

namespace tarsia::python {

PyObject* copy_itself(PyObject* self, PyObject*) {
  return Ref::borrow(self).release();
}

PyObject* reduce(PyObject* self, PyObject*) {
  const Ref module(PyImport_ImportModule("tarsia._compile.recipe"));
  return module ? PyObject_CallMethod(module.get(), "reduced", "O", self) : nullptr;
}

}  // namespace tarsia::python
