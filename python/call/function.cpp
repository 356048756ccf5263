// The type of exported functions. A call with plain tensors, ints and floats makes no Python object, takes
// no lock and allocates nothing. Releasing the GIL is a fifth of its cost. The user may turn that off. It
// is on by default, since a function that waits for another thread of Python would otherwise hang the
// program.
#include "python/call/function.h"

#include "python/call/overloaded.h"
#include "python/call/result.h"
#include "python/core/describe.h"
#include "python/core/errors.h"
#include "python/core/pickling.h"
#include "python/tensor/stream.h"
#include "python/tensor/writes.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

/// Whether the machine has the GPU that the function needs. Asked until it has.
bool is_gpu_there(const Plan& plan) {
  plan.needs_gpu = tarsia_require_gpu(plan.function) != 0;
  return !plan.needs_gpu;
}

PyObject* run(Overloaded* self, const Plan& plan, Frame& frame, const tarsia_value* values, uint32_t n) {
  tarsia_value result;
  frame.callee = plan.function->name;
  result.p = nullptr;
  result.kind = TARSIA_KIND_NONE;
  result.size = 0;
  if (self->reports_writes && !tell_writes(frame)) [[unlikely]]
    return nullptr;
  const Call call(frame, plan.function, values, n);
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
  if (frame.interrupted) [[unlikely]] {
    if (!code) drop(result);
    return raise_interruption_of_call();
  }
  if (code != 0) [[unlikely]]
    return raise_last_error();
  return object_of(frame, plan.function->result, result);
}

PyObject* call_with(Overloaded* self, PyObject* const* args, uint32_t n, PyObject* names) {
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
    return call_with(overloaded(self), args, static_cast<uint32_t>(PyVectorcall_NARGS(n)), names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// The descriptions of the overloads.
PyObject* get_description(PyObject* object, void*) {
  const Overloaded* self = overloaded(object);
  return tuple_of(self->n_plans, [&](uint64_t i) { return describe_function(*self->plans[i]->function); });
}

/// A function of the same overloads that does not tell PyTorch of what it writes to: for those who do so
/// themselves, and know better than the types.
PyObject* get_quiet(PyObject* object, void*) {
  const Overloaded* self = overloaded(object);
  std::vector<const tarsia_function*> overloads;
  for (const Plan* plan : self->overloads()) overloads.push_back(plan->function);
  PyObject* quiet = make_function(self->library, overloads.data(), overloads.size());
  if (!quiet) return nullptr;
  overloaded(quiet)->release_gil = self->release_gil;
  overloaded(quiet)->reports_writes = 0;
  return quiet;
}

/// The same overloads of the same library, as of one that was pickled.
bool is_same(const Overloaded* a, const Overloaded* b) {
  if (a->n_plans != b->n_plans || a->reports_writes != b->reports_writes) return false;
  for (uint32_t i = 0; i < a->n_plans; ++i)
    if (a->plans[i]->function != b->plans[i]->function) return false;
  return true;
}

PyObject* compare(PyObject* object, PyObject* other, int how) {
  if ((how != Py_EQ && how != Py_NE) || Py_TYPE(other) != g_type) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong(is_same(overloaded(object), overloaded(other)) == (how == Py_EQ));
}

Py_hash_t hash(PyObject* object) {
  const auto number = reinterpret_cast<uintptr_t>(overloaded(object)->plans[0]->function);
  return static_cast<Py_hash_t>(number >> 4);
}

PyObject* subscript(PyObject* object, PyObject*) {
  const std::string name = overloaded(object)->plans[0]->function->name;
  raise_argument_error(false,
                       name + " is a function, and is called as " + name +
                           "(…); brackets are for kernels, which take [grid, block], and for templates");
  return nullptr;
}

PyGetSetDef g_properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_qualified_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {"_parameters", get_parameters, nullptr, nullptr, nullptr},
    {"_quiet", get_quiet, nullptr, nullptr, nullptr},
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

PyMethodDef g_methods[] = {TARSIA_PICKLING_METHODS, {nullptr, nullptr, 0, nullptr}};

PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Overloaded, vectorcall), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(Overloaded, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot g_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_overloaded)},
    {Py_tp_new, reinterpret_cast<void*>(refuse_new<"a function of a library, lib.NAME, is one">)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_overloaded)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_tp_methods, g_methods},
    {Py_tp_getset, g_properties},
    {Py_tp_members, g_members},
    {0, nullptr}};

PyType_Spec g_spec = {"tarsia.Function", sizeof(Overloaded), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, g_slots};

}  // namespace

bool add_function_type(PyObject* module) {
  return add_type(module, g_spec, "Function", g_type);
}

FunctionParts parts_of(PyObject* function) {
  FunctionParts parts;
  if (Py_TYPE(function) != g_type) return parts;
  parts.library = overloaded(function)->library;
  for (uint32_t i = 0; i < overloaded(function)->n_plans; ++i)
    parts.overloads.push_back(overloaded(function)->plans[i]->function);
  return parts;
}

PyObject* make_function(tarsia_library* library, const tarsia_function* const* overloads, size_t n) {
  PyObject* object = make_overloaded(g_type, call, library, overloads, n);
  if (!object) return nullptr;
  Overloaded* self = overloaded(object);
  const Plan& plan = *self->plans[0];
  self->is_plain =
      n == 1 && !(plan.function->flags & TARSIA_FUNCTION_MAIN) &&
      (plan.n_streams == 0 || (plan.n_streams == 1 && plan.params.back().type.kind == TARSIA_KIND_STREAM));
  return object;
}

PyObject* call_function(PyObject* function, Frame& frame, const tarsia_value* values, uint32_t n) {
  Overloaded* self = overloaded(function);
  return run(self, *self->plans[0], frame, values, n);
}

bool is_function(PyObject* object) {
  return Py_TYPE(object) == g_type;
}

}  // namespace tarsia::python
