// Signatures, places and help texts of overloads.
#include "python/call/overloaded.h"

#include <string_view>

#include "python/core/errors.h"

namespace tarsia::python {
namespace {

const Plan& first_of(PyObject* object) {
  return *overloaded(object)->plans[0];
}

const char* location_of(const Plan& plan) {
  return plan.function->location ? plan.function->location : "";
}

/// A tuple of make(plan) for each overload. Null with an error set if one result is null.
template <class Make>
PyObject* for_each(PyObject* object, Make make) {
  const Overloaded* self = overloaded(object);
  return tuple_of(self->n_plans, [&](uint64_t i) { return make(*self->plans[i]); });
}

}  // namespace

const Plan* choose(const Overloaded* self, Frame& frame, const Arguments& given, tarsia_value*& values,
                   uint32_t& n_values) {
  using arguments::Tried;
  const bool has_stream = frame.has_stream;
  void* const stream = frame.stream;
  const int64_t chosen = arguments::choose(self->n_plans, [&](size_t i, Fit fit) {
    const Plan& plan = *self->plans[i];
    Mismatch mismatch;
    frame.start_over();
    frame.has_stream = has_stream;
    frame.stream = stream;
    values = frame.room_for<tarsia_value>(plan.n_params + 1);
    if (match(frame, plan, fit, given, values, n_values, mismatch)) return Tried::fits;
    if (mismatch.why == Why::failed) return Tried::failed;
    if (mismatch.why == Why::unreadable) PyErr_Clear();
    return Tried::does_not;
  });
  return chosen < 0 ? nullptr : self->plans[chosen];
}

PyObject* raise_mismatch(const Overloaded* self, const Arguments& given) {
  arguments::Refusal refusal(self->n_plans);
  Ref cause;
  for (const Plan* plan : self->overloads()) {
    Frame frame;
    Mismatch mismatch;
    uint32_t n_values = 0;
    auto* values = frame.room_for<tarsia_value>(plan->n_params + 1);
    if (match(frame, *plan, Fit::any, given, values, n_values, mismatch)) continue;
    if (mismatch.why == Why::failed) return nullptr;
    Ref cause_of_this;
    refusal.add(describe(*plan), explain(*plan, frame, mismatch, cause_of_this));
    if (self->n_plans == 1) cause = std::move(cause_of_this);
  }
  return raise_argument_error(refusal.is_value_error(), refusal.text(title(self)), std::move(cause));
}

std::string title(const Overloaded* self) {
  const Plan& plan = *self->plans[0];
  return (plan.kernel ? "kernel " : "") + std::string(plan.function->name);
}

void dealloc_overloaded(PyObject* object) {
  Overloaded* self = overloaded(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  for (uint32_t i = 0; i < self->n_plans; ++i) delete self->plans[i];
  delete[] self->plans;
  Py_XDECREF(self->recipe);
  if (self->library) tarsia_library_release(self->library);
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* repr_overloaded(PyObject* object) {
  std::string text = first_of(object).kernel ? "<tarsia.Kernel " : "<tarsia.Function ";
  const std::string separator = ";\n" + std::string(text.size(), ' ');
  for (const Plan* plan : overloaded(object)->overloads())
    text += (plan == &first_of(object) ? "" : separator) + plan->function->signature;
  return string(text + ">");
}

PyObject* get_name(PyObject* object, void*) {
  std::string_view name = first_of(object).function->name;
  if (first_of(object).kernel) name = name.substr(0, name.find('<'));
  const size_t colons = name.rfind("::");
  return string(std::string(colons == name.npos ? name : name.substr(colons + 2)));
}

PyObject* get_qualified_name(PyObject* object, void*) {
  return string(first_of(object).function->name);
}

PyObject* get_module(PyObject* object, void*) {
  return string(tarsia_library_name(overloaded(object)->library));
}

PyObject* get_doc(PyObject* object, void* epilogue) {
  const Ref module(import_module("tarsia._comments"));
  const char* text = epilogue ? static_cast<const char*>(epilogue) : "";
  return module ? call_method(module.get(), "doc", "Os", object, text) : nullptr;
}

PyObject* get_signature(PyObject* object, void*) {
  const Ref module(import_module("tarsia._signature"));
  return module ? call_method(module.get(), "of", "O", object) : nullptr;
}

PyObject* get_signatures(PyObject* object, void*) {
  return for_each(object, [](const Plan& plan) { return string(plan.function->signature); });
}

PyObject* get_location(PyObject* object, void*) {
  return string(location_of(first_of(object)));
}

/// A tuple of (name, may be left out) for the parameters of each overload.
PyObject* get_parameters(PyObject* object, void*) {
  return for_each(object, [](const Plan& plan) {
    return tuple_of(plan.n_params, [&](uint64_t i) {
      const bool optional = i >= plan.n_required || plan.params[i].type.kind == TARSIA_KIND_STREAM;
      return Py_BuildValue("OO", plan.params[i].name, optional ? Py_True : Py_False);
    });
  });
}

/// A tuple of (signature and place, "file:line") for each overload.
PyObject* get_described(PyObject* object, void*) {
  return for_each(object, [](const Plan& plan) {
    return Py_BuildValue("Ns", string(describe(plan)), location_of(plan));
  });
}

PyObject* get_recipe(PyObject* object, void*) {
  const Exclusive exclusive(object);
  PyObject* recipe = overloaded(object)->recipe;
  return Ref::borrow(recipe ? recipe : Py_None).release();
}
int set_recipe(PyObject* object, PyObject* value, void*) {
  const Exclusive exclusive(object);
  const Ref old(overloaded(object)->recipe);
  overloaded(object)->recipe = Ref::borrow(value).release();
  return 0;
}

PyObject* get_release_gil(PyObject* object, void*) {
  return PyBool_FromLong(overloaded(object)->release_gil);
}
int set_release_gil(PyObject* object, PyObject* value, void*) {
  const int truth = value ? run_python<PyObject_IsTrue>(value) : -1;
  if (!value) PyErr_SetString(PyExc_AttributeError, "release_gil cannot be deleted");
  if (truth < 0) return -1;
  overloaded(object)->release_gil = static_cast<char>(truth);
  return 0;
}

}  // namespace tarsia::python
