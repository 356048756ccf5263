// The type of exported functions. A call with plain tensors, ints and floats makes no Python object, takes no
// lock and allocates nothing; releasing the GIL is a fifth of its cost, and is left to the user to turn off,
// since a function that waits for another thread of Python would otherwise hang the program.
#include "function.h"

#include <string_view>

#include "call.h"
#include "describe.h"
#include "errors.h"
#include "result.h"
#include "stream.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

struct FunctionObject {
  PyObject head;
  vectorcallfunc vectorcall;
  PyObject* weak_references;
  PyObject* recipe;  ///< what its source is compiled from, or null
  tarsia_library* library;
  Plan** plans;
  uint32_t n_plans;
  bool is_plain;  ///< one overload, not main, no stream but one at the end: arguments stand as parameters do
  char release_gil;
};

FunctionObject* self_of(PyObject* object) {
  return reinterpret_cast<FunctionObject*>(object);
}

/// Whether there is what the function needs to be called; asked until there is. Called with the GIL held.
bool is_gpu_there(const Plan& plan) {
  plan.needs_gpu = tarsia_require_gpu(plan.function) != 0;
  return !plan.needs_gpu;
}

PyObject* run(FunctionObject* self, const Plan& plan, Frame& frame, const tarsia_value* values, uint32_t n) {
  tarsia_value result;
  frame.callee = plan.function->name;
  result.p = nullptr;
  result.kind = TARSIA_KIND_NONE;
  result.size = 0;
  const Call call(frame);
  if (plan.needs_gpu && !is_gpu_there(plan)) [[unlikely]]
    return raise_last_error();
  int32_t code;
  {
    const Unlocked unlocked(self->release_gil);
    code = plan.call(values, n, &result);
    if (plan.has_cuda && !code) {
      code = tarsia_check_launches(plan.function);
      if (code) drop(result);
    }
  }
  if (code != 0) [[unlikely]]
    return raise_last_error();
  return object_of(frame, plan.function->result, result);
}

/// Raises what keeps the overloads from taking the arguments. One overload: its reason; several: all of them.
PyObject* raise_mismatch(FunctionObject* self, const Arguments& arguments) {
  std::string message;
  bool is_value_error = true;
  Ref cause;
  for (uint32_t i = 0; i < self->n_plans; ++i) {
    const Plan& plan = *self->plans[i];
    Frame frame;
    Mismatch mismatch;
    uint32_t n_values = 0;
    auto* values = frame.room_for<tarsia_value>(plan.n_params + 1);
    if (match(frame, plan, Fit::any, arguments, values, n_values, mismatch)) continue;
    if (mismatch.why == Why::failed) return nullptr;
    Explanation explanation = explain(plan, frame, mismatch);
    is_value_error &= explanation.is_value_error;
    if (self->n_plans == 1) {
      message = std::string(plan.function->name) + ": " + explanation.text + "\n  in " + describe(plan);
      cause = std::move(explanation.cause);
    } else {
      message += "\n  " + describe(plan) + "\n    " + explanation.text;
    }
  }
  if (self->n_plans > 1)
    message = std::string(self->plans[0]->function->name) + ": no overload fits" + message;
  return raise_argument_error(is_value_error, message, std::move(cause));
}

/// The first overload that fits exactly, else the first that fits; null if none does.
const Plan* choose(FunctionObject* self, Frame& frame, const Arguments& arguments, tarsia_value*& values,
                   uint32_t& n_values) {
  for (const Fit fit : {Fit::exact, Fit::any}) {
    if (fit == Fit::exact && self->n_plans == 1) continue;
    for (uint32_t i = 0; i < self->n_plans; ++i) {
      Mismatch mismatch;
      frame.start_over();
      values = frame.room_for<tarsia_value>(self->plans[i]->n_params + 1);
      if (match(frame, *self->plans[i], fit, arguments, values, n_values, mismatch)) return self->plans[i];
      if (mismatch.why == Why::failed) return nullptr;
      if (mismatch.why == Why::unreadable) PyErr_Clear();
    }
  }
  return nullptr;
}

PyObject* call_with(FunctionObject* self, PyObject* const* args, uint32_t n, PyObject* names) {
  Frame frame;
  if (self->is_plain && !names) [[likely]] {
    const Plan& plan = *self->plans[0];
    if (n == plan.n_params - plan.n_streams) [[likely]] {
      frame.given = args;
      frame.n_given = n;
      auto* values = frame.room_for<tarsia_value>(plan.n_params);
      uint32_t i = 0;
      Why why = Why::fits;
      for (; i < n; ++i) {
        why = convert(frame, plan.params[i], Fit::any, args[i], values[i]);
        if (why != Why::fits) [[unlikely]]
          break;
      }
      if (i == n) [[likely]] {
        if (plan.n_streams) values[n] = {.p = stream_of_call(frame), .kind = TARSIA_KIND_STREAM, .size = 0};
        return run(self, plan, frame, values, plan.n_params);
      }
      if (why == Why::failed) return nullptr;
      if (why == Why::unreadable) PyErr_Clear();
      return raise_mismatch(self, {args, n, names});
    }
  }
  const Arguments arguments{args, n, names};
  tarsia_value* values = nullptr;
  uint32_t n_values = 0;
  if (const Plan* plan = choose(self, frame, arguments, values, n_values))
    return run(self, *plan, frame, values, n_values);
  return PyErr_Occurred() ? nullptr : raise_mismatch(self, arguments);
}

PyObject* call(PyObject* self, PyObject* const* args, size_t n, PyObject* names) {
  try {
    return call_with(self_of(self), args, static_cast<uint32_t>(PyVectorcall_NARGS(n)), names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

void dealloc(PyObject* object) {
  FunctionObject* self = self_of(object);
  PyTypeObject* type = Py_TYPE(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  for (uint32_t i = 0; i < self->n_plans; ++i) delete self->plans[i];
  delete[] self->plans;
  Py_XDECREF(self->recipe);
  if (self->library) tarsia_library_release(self->library);
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* string(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), text.size(), "replace");
}

const tarsia_function& first_of(PyObject* object) {
  return *self_of(object)->plans[0]->function;
}

PyObject* repr(PyObject* object) {
  FunctionObject* self = self_of(object);
  std::string text = "<tarsia.Function ";
  for (uint32_t i = 0; i < self->n_plans; ++i)
    text += (i ? ";\n                 " : "") + std::string(self->plans[i]->function->signature);
  return string(text + ">");
}

PyObject* get_name(PyObject* object, void*) {
  const std::string_view name = first_of(object).name;
  const size_t colons = name.rfind("::");
  return string(std::string(colons == std::string_view::npos ? name : name.substr(colons + 2)));
}

PyObject* get_qualified_name(PyObject* object, void*) {
  return string(first_of(object).name);
}

PyObject* get_module(PyObject* object, void*) {
  return string(tarsia_library_name(self_of(object)->library));
}

PyObject* get_doc(PyObject* object, void*) {
  const Ref module(PyImport_ImportModule("tarsia._comments"));
  return module ? PyObject_CallMethod(module.get(), "doc", "O", object) : nullptr;
}

/// A tuple of (signature and place, "file:line") for each overload.
PyObject* get_described(PyObject* object, void*) {
  FunctionObject* self = self_of(object);
  Ref tuple(PyTuple_New(self->n_plans));
  for (uint32_t i = 0; tuple && i < self->n_plans; ++i) {
    const char* location = self->plans[i]->function->location;
    PyObject* one = Py_BuildValue("Ns", string(describe(*self->plans[i])), location ? location : "");
    if (PyTuple_SetItem(tuple.get(), i, one) != 0) return nullptr;
  }
  return tuple.release();
}

PyObject* get_recipe(PyObject* object, void*) {
  PyObject* recipe = self_of(object)->recipe;
  return Ref::borrow(recipe ? recipe : Py_None).release();
}
int set_recipe(PyObject* object, PyObject* value, void*) {
  const Ref old(self_of(object)->recipe);
  self_of(object)->recipe = Ref::borrow(value).release();
  return 0;
}

PyObject* get_signatures(PyObject* object, void*) {
  FunctionObject* self = self_of(object);
  Ref tuple(PyTuple_New(self->n_plans));
  for (uint32_t i = 0; tuple && i < self->n_plans; ++i)
    if (PyTuple_SetItem(tuple.get(), i, string(self->plans[i]->function->signature)) != 0) return nullptr;
  return tuple.release();
}

PyObject* get_location(PyObject* object, void*) {
  return string(first_of(object).location ? first_of(object).location : "");
}

/// A tuple of (name, may be left out) for the parameters of each overload.
PyObject* get_parameters(PyObject* object, void*) {
  FunctionObject* self = self_of(object);
  Ref overloads(PyTuple_New(self->n_plans));
  for (uint32_t i = 0; overloads && i < self->n_plans; ++i) {
    const Plan& plan = *self->plans[i];
    PyObject* params = PyTuple_New(plan.n_params);
    for (uint32_t k = 0; params && k < plan.n_params; ++k) {
      const bool optional = k >= plan.n_required || plan.params[k].type.kind == TARSIA_KIND_STREAM;
      PyTuple_SetItem(params, k, Py_BuildValue("OO", plan.params[k].name, optional ? Py_True : Py_False));
    }
    if (PyTuple_SetItem(overloads.get(), i, params) != 0) return nullptr;
  }
  return overloads.release();
}

/// The descriptions of the overloads.
PyObject* get_description(PyObject* object, void*) {
  FunctionObject* self = self_of(object);
  Ref tuple(PyTuple_New(self->n_plans));
  for (uint32_t i = 0; tuple && i < self->n_plans; ++i) {
    PyObject* described = describe_function(*self->plans[i]->function);
    if (!described) return nullptr;
    PyTuple_SetItem(tuple.get(), i, described);
  }
  return tuple.release();
}

PyObject* get_signature(PyObject* object, void*) {
  const Ref module(PyImport_ImportModule("tarsia._signature"));
  return module ? PyObject_CallMethod(module.get(), "of", "O", object) : nullptr;
}

PyObject* get_release_gil(PyObject* object, void*) {
  return PyBool_FromLong(self_of(object)->release_gil);
}

int set_release_gil(PyObject* object, PyObject* value, void*) {
  const int truth = value ? PyObject_IsTrue(value) : -1;
  if (!value) PyErr_SetString(PyExc_AttributeError, "release_gil cannot be deleted");
  if (truth < 0) return -1;
  self_of(object)->release_gil = static_cast<char>(truth);
  return 0;
}

PyGetSetDef g_properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_qualified_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"_parameters", get_parameters, nullptr, nullptr, nullptr},
    {"_description", get_description, nullptr, nullptr, nullptr},
    {"_described", get_described, nullptr, nullptr, nullptr},
    {"_recipe", get_recipe, set_recipe, nullptr, nullptr},
    {"signatures", get_signatures, nullptr, "The C++ signatures of its overloads.", nullptr},
    {"location", get_location, nullptr, "'file:line' of the first overload in the source.", nullptr},
    {"release_gil", get_release_gil, set_release_gil,
     "Whether other threads of Python may run during a call (True). Turning it off saves some 30 ns a call; "
     "do "
     "it only for functions that end quickly and never wait for another thread.",
     nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot g_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                         {Py_tp_repr, reinterpret_cast<void*>(repr)},
                         {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                         {Py_tp_getset, g_properties},
                         {Py_tp_members, g_members},
                         {0, nullptr}};

PyType_Spec g_spec = {"tarsia.Function", sizeof(FunctionObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
                      g_slots};

}  // namespace

bool add_function_type(PyObject* module) {
  const Ref type(PyType_FromSpec(&g_spec));
  if (!type || PyObject_SetAttrString(module, "Function", type.get()) != 0) return false;
  g_type = reinterpret_cast<PyTypeObject*>(Ref::borrow(type.get()).release());
  return true;
}

FunctionParts parts_of(PyObject* function) {
  FunctionParts parts;
  if (Py_TYPE(function) != g_type) return parts;
  parts.library = self_of(function)->library;
  for (uint32_t i = 0; i < self_of(function)->n_plans; ++i)
    parts.overloads.push_back(self_of(function)->plans[i]->function);
  return parts;
}

PyObject* make_function(tarsia_library* library, const tarsia_function* const* overloads, size_t n) {
  PyObject* object = PyType_GenericAlloc(g_type, 0);
  if (!object) return nullptr;
  FunctionObject* self = self_of(object);
  tarsia_library_retain(library);
  self->library = library;
  self->vectorcall = call;
  self->release_gil = 1;
  self->plans = new Plan*[n];
  for (size_t i = 0; i < n; ++i) {
    self->plans[i] = new Plan(overloads[i], tarsia_library_name(library));
    ++self->n_plans;
  }
  const Plan& plan = *self->plans[0];
  self->is_plain =
      n == 1 && !(plan.function->flags & TARSIA_FUNCTION_MAIN) &&
      (plan.n_streams == 0 || (plan.n_streams == 1 && plan.params.back().type.kind == TARSIA_KIND_STREAM));
  return object;
}

PyObject* call_function(PyObject* function, Frame& frame, const tarsia_value* values, uint32_t n) {
  FunctionObject* self = self_of(function);
  return run(self, *self->plans[0], frame, values, n);
}

bool is_function(PyObject* object) {
  return Py_TYPE(object) == g_type;
}

}  // namespace tarsia::python
