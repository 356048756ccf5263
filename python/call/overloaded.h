// The common base of tarsia.Function and tarsia.Kernel: overloads, of which a call takes the first that
// fits, and their descriptions.
#pragma once

#include <span>

#include "python/call/call.h"

namespace tarsia::python {

/// An object over overloads, in the order in which they are tried. It keeps their library.
struct Overloaded {
  PyObject head;
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* recipe;  ///< what its source is compiled from, or null
  tarsia_library* library;
  Plan** plans;
  uint32_t n_plans;
  bool is_plain;  ///< one overload, and arguments by position stand as its parameters do
  char release_gil;
  char reports_writes;  ///< whether PyTorch is told of what its calls write to

  std::span<const Plan* const> overloads() const { return {plans, n_plans}; }
};

inline Overloaded* overloaded(PyObject* object) {
  return reinterpret_cast<Overloaded*>(object);
}

/// A new object of `type`, with a plan for each descriptor. Null with an error set on failure. is_plain
/// stays false.
template <class Described>
PyObject* make_overloaded(PyTypeObject* type, vectorcallfunc call, tarsia_library* library,
                          const Described* const* overloads, size_t n) {
  PyObject* object = PyType_GenericAlloc(type, 0);
  if (!object) return nullptr;
  Overloaded* self = overloaded(object);
  tarsia_library_retain(library);
  self->library = library;
  self->vectorcall = call;
  self->release_gil = 1;
  self->reports_writes = 1;
  self->plans = new Plan*[n];
  for (size_t i = 0; i < n; ++i) {
    self->plans[i] = new Plan(overloads[i], tarsia_library_name(library));
    ++self->n_plans;
  }
  return object;
}

/// The first overload that fits exactly, else the first that fits, with its values. Null if none does; an
/// error is then set if Python raised one. A stream that the frame has stays.
const Plan* choose(const Overloaded* self, Frame& frame, const Arguments& arguments, tarsia_value*& values,
                   uint32_t& n_values);

/// Raises the reason why the overloads do not take the arguments. For several overloads, raises all
/// reasons.
PyObject* raise_mismatch(const Overloaded* self, const Arguments& arguments);

/// "ns::f" or "kernel ns::k": the start of messages about a call.
std::string title(const Overloaded* self);

// Slots and properties of both types. The closure of __doc__ is the last text of help(), or null.
void dealloc_overloaded(PyObject* object);
PyObject* repr_overloaded(PyObject* object);
PyObject* get_name(PyObject* object, void*);
PyObject* get_qualified_name(PyObject* object, void*);
PyObject* get_module(PyObject* object, void*);
PyObject* get_doc(PyObject* object, void* epilogue);
PyObject* get_signature(PyObject* object, void*);
PyObject* get_signatures(PyObject* object, void*);
PyObject* get_location(PyObject* object, void*);
PyObject* get_parameters(PyObject* object, void*);
PyObject* get_described(PyObject* object, void*);
PyObject* get_recipe(PyObject* object, void*);
int set_recipe(PyObject* object, PyObject* value, void*);
PyObject* get_release_gil(PyObject* object, void*);
int set_release_gil(PyObject* object, PyObject* value, void*);

}  // namespace tarsia::python
