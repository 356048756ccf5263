// The call of a tarsia.Expression: types deduced, function looked up, tensors passed on.
#include "python/expression/expression.h"

#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/core/pickling.h"
#include "python/expression/expression_call.h"

namespace nb = nanobind;

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

struct ExpressionObject {
  PyObject head;
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  ExpressionState* state;
};

ExpressionObject* self_of(PyObject* object) {
  return reinterpret_cast<ExpressionObject*>(object);
}

PyObject* call(PyObject* object, PyObject* const* args, size_t nargs, PyObject* names) {
  try {
    Frame frame;
    return ExpressionCall(*self_of(object)->state, frame)
        .run(args, static_cast<uint32_t>(PyVectorcall_NARGS(nargs)), names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  if (const ExpressionState* state = self_of(object)->state) Py_VISIT(state->recipe.get());
  return 0;
}

int clear(PyObject* object) {
  if (ExpressionState* state = self_of(object)->state) state->recipe = Ref();
  return 0;
}

void dealloc(PyObject* object) {
  PyObject_GC_UnTrack(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self_of(object)->weak_references) PyObject_ClearWeakRefs(object);
  delete self_of(object)->state;
  PyObject_GC_Del(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

/// Attributes that are not its own are those of the recipe: __name__, __doc__, __signature__, source, …
PyObject* get_attribute(PyObject* object, PyObject* name) {
  PyObject* found = nullptr;
  const std::string text = text_of(name);
  if (text == "__doc__" || text == "__module__") {
    found = run_python<PyObject_GetAttr>(self_of(object)->state->recipe.get(), name);
  } else {
    found = PyObject_GenericGetAttr(object, name);
    if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) && text != "compile") {
      PyErr_Clear();
      found = run_python<PyObject_GetAttr>(self_of(object)->state->recipe.get(), name);
    }
  }
  return found;
}

PyObject* repr(PyObject* object) {
  return run_python<PyObject_Repr>(self_of(object)->state->recipe.get());
}

PyMethodDef g_methods[] = {TARSIA_PICKLING_METHODS, {nullptr, nullptr, 0, nullptr}};

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(ExpressionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(ExpressionObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot g_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_new, reinterpret_cast<void*>(refuse_new<"tarsia.elementwise and tarsia.reduction give one">)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_getattro, reinterpret_cast<void*>(get_attribute)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, g_methods},
    {Py_tp_members, g_members},
    {0, nullptr}};

PyType_Spec g_spec = {"tarsia.Expression", sizeof(ExpressionObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, g_slots};

/// params: a list of (name, type as written, number of its letter or -1, dtype's name, raw, output, inout).
nb::object make(nb::object recipe, const char* name, nb::list params, nb::list letters, bool is_reduction) {
  auto* state = new ExpressionState();
  state->name = name;
  state->is_reduction = is_reduction;
  state->takes_size = true;
  state->recipe = Ref::borrow(recipe.ptr());
  for (nb::handle letter : letters) state->letters.emplace_back(nb::borrow<nb::str>(letter).c_str());
  for (nb::handle item : params) {
    ExpressionParameter p;
    p.name = nb::borrow<nb::str>(item[0]).c_str();
    p.key = Ref(PyUnicode_InternFromString(p.name.c_str()));
    p.type = nb::borrow<nb::str>(item[1]).c_str();
    p.letter = nb::cast<int>(item[2]);
    p.dtype = dtype_named(nb::borrow<nb::str>(item[3]).c_str());
    p.is_raw = nb::cast<bool>(item[4]);
    p.is_output = nb::cast<bool>(item[5]);
    p.is_inout = nb::cast<bool>(item[6]);
    state->n_inputs += !p.is_output;
    state->takes_size &= p.is_raw || p.is_output;
    state->params.push_back(std::move(p));
  }
  PyObject* object = PyType_GenericAlloc(g_type, 0);
  if (!object) {
    delete state;
    throw nb::python_error();
  }
  self_of(object)->vectorcall = call;
  self_of(object)->state = state;
  return nb::steal(object);
}

}  // namespace

bool add_expression(nb::module_& module) {
  if (!add_type(module.ptr(), g_spec, "Expression", g_type)) return false;
  module.def("make_expression", make);
  return true;
}

}  // namespace tarsia::python
