// Asks the package how to pickle.
#include "python/core/pickling.h"

namespace tarsia::python {

PyObject* copy_itself(PyObject* self, PyObject*) {
  return Ref::borrow(self).release();
}

PyObject* reduce(PyObject* self, PyObject*) {
  const Ref module(import_module("tarsia._compile.recipe"));
  return module ? call_method(module.get(), "reduced", "O", self) : nullptr;
}

}  // namespace tarsia::python
