// Ops written in Python. Each has one object that defines it (tarsia._define.define.Definition). Its methods
// are called with the GIL held: create(attributes) makes the object of a binding, and infer, forward and
// backward get that object.
#include "python/op/python_op.h"

#include <tarsia/c_api.h>
#include <tarsia/detail/names.h>
#include <tarsia/op_abi.h>

#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "python/core/describe.h"
#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/core/pending_exception.h"
#include "python/op/attributes.h"
#include "python/op/described_op.h"
#include "python/op/op_tensors.h"
#include "python/op/op_text.h"
#include "python/op/unwritten.h"

namespace nb = nanobind;

namespace tarsia::python {

thread_local CallUnderWay* CallUnderWay::t_innermost = nullptr;

namespace {

std::thread::id g_importing_thread;

struct Defined;

/// An implementation of an op; `index` is that of Definition.implementations.
struct PythonImplementation {
  const Defined* defined;
  int index;
  WatchedRuns watched_runs{};
};

/// An op as the registry sees it.
struct Defined : DescribedOp {
  Ref definition;
  std::deque<PythonImplementation> python_implementations;
  bool amends = false;                ///< infer takes what amendments() makes
  tarsia_library* library = nullptr;  ///< that of this op; lives as long as it
};

/// Runs f with the GIL held. Does not run it once the interpreter is gone, or while another thread takes it
/// down.
template <class F>
void with_interpreter(const F& f) {
  if (Py_IsInitialized()) {
    const Locked locked;
    f();
  } else if (std::this_thread::get_id() == g_importing_thread && PyGILState_GetThisThreadState()) {
    f();
  }
}

/// The object that create() made for a binding.
struct Binding {
  Ref object;
};

/// The defined ops and their bindings. No code of Python's runs while g_lists is held: without the GIL, two
/// threads may be here at once. The garbage collector does not see through
/// them: when the interpreter ends, they release their objects by themselves.
std::mutex g_lists;
std::set<Defined*> g_defined;
std::set<Binding*> g_bindings;

template <class T>
void enter(std::set<T*>& list, T* one) {
  const std::scoped_lock lock(g_lists);
  list.insert(one);
}

template <class T>
void leave(std::set<T*>& list, T* one) {
  const std::scoped_lock lock(g_lists);
  list.erase(one);
}

PyObject* object_of(const void* params) {
  return static_cast<const Binding*>(params)->object.get();
}

int32_t ended() {
  return tarsia_get_host()->set_error(TARSIA_OP_ERROR,
                                      "it is written in Python, whose interpreter has ended");
}

/// Turns the current Python error into this thread's last error of libtarsia. Returns its code.
int32_t capture_error() {
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  run_python<PyErr_NormalizeException>(&type, &value, &traceback);
  if (value && traceback) PyException_SetTraceback(value, traceback);
  const Ref owned_type(type), exception(value), owned_traceback(traceback);
  const auto is = [&](PyObject* kind) { return PyErr_GivenExceptionMatches(value, kind) != 0; };
  const int32_t code = is(PyExc_ValueError)            ? TARSIA_OP_VALUE_ERROR
                       : is(PyExc_TypeError)           ? TARSIA_OP_TYPE_ERROR
                       : is(PyExc_IndexError)          ? TARSIA_OP_INDEX_ERROR
                       : is(PyExc_MemoryError)         ? TARSIA_OUT_OF_MEMORY
                       : is(PyExc_NotImplementedError) ? TARSIA_UNSUPPORTED
                                                       : TARSIA_OP_ERROR;
  const Ref module(import_module("tarsia._define"));
  const Ref description(module ? call_method(module.get(), "describe_exception", "O", value) : nullptr);
  PyErr_Clear();
  const std::string text = description ? text_of(description.get()) : "an exception in Python";
  keep_exception(text, Ref::borrow(value));
  return tarsia_get_host()->set_error(code, text.c_str());
}

/// A tuple of the declared attributes' values.
PyObject* attributes_object(const tarsia_bind_info& info) {
  return tuple_of(info.declared->n_attributes, [&](uint64_t i) { return value_object(info.attributes[i]); });
}

/// A tuple of (name, value) of the undeclared ones.
PyObject* other_attributes_object(const tarsia_bind_info& info) {
  const uint64_t n_declared = info.declared->n_attributes;
  return tuple_of(info.n_attributes - n_declared, [&](uint64_t i) {
    return Py_BuildValue("sN", info.attribute_names[n_declared + i],
                         value_object(info.attributes[n_declared + i]));
  });
}

int32_t count_outputs(void* user, const tarsia_bind_info* info, uint32_t*, uint32_t* n_outputs) {
  if (!Py_IsInitialized()) return ended();
  const Locked locked;
  const auto* defined = static_cast<const Defined*>(user);
  if (!defined->definition) return ended();
  const Ref values(attributes_object(*info)), others(other_attributes_object(*info));
  const Ref n(values && others
                  ? call_method(defined->definition.get(), "count_outputs", "OO", values.get(), others.get())
                  : nullptr);
  const long count = n ? run_python<PyLong_AsLong>(n.get()) : -1;
  if (PyErr_Occurred()) return capture_error();
  *n_outputs = static_cast<uint32_t>(count);
  return 0;
}

/// What an implementation of `defined` gets as its instance: the object of the binding, or if it was added to
/// an op of others, what its definition makes of the attributes. Null with an error set.
Ref instance_of(const Defined& defined, const tarsia_bind_info& info) {
  if (!(defined.op.flags & TARSIA_OP_EXTENDS)) return Ref::borrow(object_of(info.params));
  const Ref values(attributes_object(info)), others(other_attributes_object(info));
  return Ref(values && others
                 ? call_method(defined.definition.get(), "create", "OO", values.get(), others.get())
                 : nullptr);
}

int32_t create_params(void* user, const tarsia_bind_info* info, void** params) {
  if (!Py_IsInitialized()) return ended();
  const Locked locked;
  const auto* defined = static_cast<const Defined*>(user);
  if (!defined->definition) return ended();
  const Ref values(attributes_object(*info)), others(other_attributes_object(*info));
  Ref object(values && others
                 ? call_method(defined->definition.get(), "create", "OO", values.get(), others.get())
                 : nullptr);
  if (!object) return capture_error();
  auto* binding = new Binding{std::move(object)};
  enter(g_bindings, binding);
  *params = binding;
  return 0;
}

void destroy_params(void*, void* params) {
  auto* binding = static_cast<Binding*>(params);
  if (!binding) return;
  with_interpreter([&] {
    leave(g_bindings, binding);
    delete binding;
  });
}

/// The binding is its own state: the registry lets one caller at a time run it, and makes a binding for
/// each.
int32_t create_state(void*, const tarsia_bind_info* info, void** state) {
  *state = info->params;
  return 0;
}

/// A tuple of (shape, dtype, storage) of metas, None for absent ones.
PyObject* metadata_of(const tarsia_meta* metas, uint32_t n) {
  return tuple_of(n, [&](uint64_t i) {
    return metas[i].present ? Py_BuildValue("NNN", shape_object(metas[i]), dtype_object(metas[i]),
                                            storage_object(metas[i]))
                            : Ref::borrow(Py_None).release();
  });
}

/// Takes over the inferred meta of one tensor. False with an error set.
bool set_meta(PyObject* found, tarsia_meta& meta) {
  PyObject *shape = PyTuple_GetItem(found, 0), *dtype = PyTuple_GetItem(found, 1),
           *storage = PyTuple_GetItem(found, 2);
  if (!shape || !dtype || !storage) return false;
  if (shape != Py_None) {
    const Py_ssize_t ndim = PyTuple_Size(shape);
    meta.ndim = static_cast<int32_t>(ndim);
    for (int d = 0; d < meta.ndim; ++d) {
      PyObject* extent = PyTuple_GetItem(shape, d);
      meta.shape[d] = extent == Py_None ? -1 : run_python<PyLong_AsLongLong>(extent);
      if (PyErr_Occurred()) return false;
    }
  }
  if (dtype != Py_None) {
    meta.dtype = dtype_named(text_of(dtype));
    if (!meta.dtype.lanes) {
      PyErr_Format(PyExc_TypeError, "infer_dtype: %R is no dtype: a str such as 'float32'", dtype);
      return false;
    }
  }
  if (storage != Py_None) meta.storage = tarsia::detail::storage_named(text_of(storage));
  return true;
}

/// What infer may change beside the metas, as functions of Python's: choose(name), and set_attribute(name,
/// value), which gives the value as the op gets it. They live as long as the call of infer.
nb::object amendments(const std::shared_ptr<const tarsia_bind_info*>& slot) {
  const auto info_of = [](const std::shared_ptr<const tarsia_bind_info*>& kept) {
    if (!*kept) throw nb::value_error("only infer, while it runs, may choose or change attributes");
    return *kept;
  };
  const auto check = [](int32_t code) {
    if (!code) return;
    raise_last_error();
    throw nb::python_error();
  };
  nb::object choose = nb::cpp_function([=](const char* name) {
    const tarsia_bind_info* info = info_of(slot);
    check(info->choose(info, name));
  });
  nb::object set = nb::cpp_function([=](const char* name, nb::handle value) {
    const tarsia_bind_info* info = info_of(slot);
    Frame frame;
    Attributes attributes;
    const nb::tuple names = nb::make_tuple(name);
    PyObject* const values[] = {value.ptr()};
    if (!read_attributes(frame, *info->declared, names.ptr(), values, attributes)) throw nb::python_error();
    check(info->set_attribute(info, name, attributes.values.data()));
    for (uint32_t i = 0; i < info->n_attributes; ++i)
      if (!std::strcmp(name, info->attribute_names[i])) return nb::steal(value_object(info->attributes[i]));
    return nb::object(nb::none());
  });
  const char* device = (*slot)->device.type == TARSIA_CPU ? "cpu" : "gpu";
  return nb::make_tuple(device, choose, set);
}

int32_t infer(void* user, const tarsia_bind_info* info) {
  if (!Py_IsInitialized()) return ended();
  const Locked locked;
  const auto* defined = static_cast<const Defined*>(user);
  if (!defined->definition) return ended();
  const Ref inputs(metadata_of(info->inputs, info->n_inputs)),
      outputs(metadata_of(info->outputs, info->n_outputs));
  Ref found;
  if (defined->amends) {
    const auto slot = std::make_shared<const tarsia_bind_info*>(info);
    try {
      const nb::object more = amendments(slot);
      if (inputs && outputs)
        found = Ref(call_method(defined->definition.get(), "infer", "OOOO", object_of(info->params),
                                inputs.get(), outputs.get(), more.ptr()));
    } catch (nb::python_error& error) {
      error.restore();
    }
    *slot = nullptr;
  } else if (inputs && outputs) {
    found = Ref(call_method(defined->definition.get(), "infer", "OOO", object_of(info->params), inputs.get(),
                            outputs.get()));
  }
  for (uint32_t i = 0; found && i < info->n_inputs + info->n_outputs; ++i) {
    PyObject* item = PyList_GetItem(found.get(), i);
    tarsia_meta& meta = i < info->n_inputs ? info->inputs[i] : info->outputs[i - info->n_inputs];
    if (!item || (item != Py_None && !set_meta(item, meta))) return capture_error();
  }
  return found ? 0 : capture_error();
}

/// What a function of an implementation says of an op that is being bound. Null with an error captured.
Ref asked(const PythonImplementation& implementation, const char* method, const tarsia_bind_info& info) {
  if (!implementation.defined->definition) {
    ended();
    return {};
  }
  const Ref inputs(metadata_of(info.inputs, info.n_inputs)),
      outputs(metadata_of(info.outputs, info.n_outputs)),
      instance(instance_of(*implementation.defined, info));
  Ref answer(inputs && outputs && instance
                 ? call_method(implementation.defined->definition.get(), method, "iOOO", implementation.index,
                               instance.get(), inputs.get(), outputs.get())
                 : nullptr);
  if (!answer) capture_error();
  return answer;
}

int32_t applies(void* user, const tarsia_bind_info* info) {
  if (!Py_IsInitialized()) return ended(), -1;
  const Locked locked;
  const Ref answer = asked(*static_cast<const PythonImplementation*>(user), "applies", *info);
  return !answer ? -1 : answer.get() == Py_True;
}

int64_t workspace(void* user, const tarsia_bind_info* info) {
  if (!Py_IsInitialized()) return ended(), -1;
  const Locked locked;
  const Ref answer = asked(*static_cast<const PythonImplementation*>(user), "workspace", *info);
  if (!answer) return -1;
  const int64_t bytes = run_python<PyLong_AsLongLong>(answer.get());
  return PyErr_Occurred() ? capture_error(), -1 : bytes;
}

int32_t run(void* user, const tarsia_op_context* context) {
  if (!Py_IsInitialized()) return ended();
  const Locked locked;
  auto* implementation = static_cast<PythonImplementation*>(user);
  const Defined* defined = implementation->defined;
  if (!defined->definition) return ended();
  OpTensors tensors(*context);
  const UnwrittenOutputs unwritten(*context, implementation->watched_runs);
  {
    const Py_ssize_t n_in = context->n_inputs, n_out = context->n_outputs;
    const Ref instance = instance_of(*defined, *context->info);
    if (!instance) return capture_error();
    const Ref arguments(PyTuple_New(n_in + n_out)), requests(PyTuple_New(n_out));
    if (!arguments || !requests) return capture_error();
    for (Py_ssize_t i = 0; i < n_in + n_out; ++i) {
      const bool is_output = i >= n_in;
      PyObject* object = is_output ? tensors.output(static_cast<uint32_t>(i - n_in))
                                   : tensors.input(static_cast<uint32_t>(i));
      if (!object) return capture_error();
      PyTuple_SetItem(arguments.get(), i, object);
      if (is_output)
        PyTuple_SetItem(
            requests.get(), i - n_in,
            PyUnicode_FromString(tarsia::detail::k_request_names[context->requests[i - n_in] & 3]));
    }
    const Ref done(call_method(defined->definition.get(), tarsia::detail::pass_name(context->pass), "iOOO",
                               implementation->index, instance.get(), arguments.get(), requests.get()));
    if (!done) {
      const int32_t code = capture_error();
      // The traceback holds the frames' variables, and with them tensors that end with the call.
      if (tensors.is_any_kept()) {
        drop_traceback();
      }
      return code;
    }
  }
  if (const int64_t i = unwritten.first(); i >= 0) {
    const std::string text = tensors.name_of_output(static_cast<uint32_t>(i)) +
                             " is not written: " + tarsia::detail::pass_name(context->pass) +
                             " has to write into it, as y[...] = x does; y = x only gives x another name";
    return tarsia_get_host()->set_error(TARSIA_OP_ERROR, text.c_str());
  }
  if (!tensors.is_any_kept()) return 0;
  return tarsia_get_host()->set_error(
      TARSIA_OP_ERROR, "a tensor was kept beyond the call, whose memory ends with it: keep a copy of it");
}

void release_defined(void* user) {
  auto* defined = static_cast<Defined*>(user);
  with_interpreter([&] {
    leave(g_defined, defined);
    delete defined;
  });
}

/// Removes all ops from the registry. It outlives the interpreter and would keep their objects.
void forget_ops() {
  std::vector<tarsia_library*> libraries;
  {
    const std::scoped_lock lock(g_lists);
    for (const Defined* defined : g_defined) {
      libraries.push_back(defined->library);
      tarsia_library_retain(defined->library);
    }
  }
  for (tarsia_library* library : libraries) {
    tarsia_library_unload(library);
    tarsia_library_release(library);
  }
  std::vector<Ref> gone;  // ends after the lock: the end of an object may run code of Python's
  const std::scoped_lock lock(g_lists);
  for (Defined* defined : g_defined) gone.push_back(std::move(defined->definition));
  for (Binding* binding : g_bindings) gone.push_back(std::move(binding->object));
}

/// Shows a warning at the code that called the package. False with an error set if a filter makes one of it.
bool warn_caller(const char* message) {
  const Ref module(import_module("tarsia._compile.loading"));
  return module && Ref(call_method(module.get(), "warn_caller", "s", message));
}

/// Registers an op: `spec` is what read_description reads, with what follows of whether the op infers, amends
/// attributes, counts its outputs, has state, and adds its implementations to an op that is registered.
/// Returns a function that takes the op out of the registry.
nb::object define_op(nb::object definition, nb::dict spec) {
  auto defined = std::make_unique<Defined>();
  defined->definition = Ref::borrow(definition.ptr());
  const auto flag = [&](const char* key) { return nb::cast<bool>(spec[key]); };
  tarsia_op& op = defined->op;
  for (const OwnFunctions& own : read_description(spec, *defined)) {
    const auto i = defined->python_implementations.size();
    defined->python_implementations.emplace_back(defined.get(), static_cast<int>(i));
    tarsia_implementation& one = defined->implementations[i];
    one.run = run;
    if (own.applies) one.applies = applies;
    if (own.workspace) one.workspace = workspace;
    one.run_user = one.applies_user = one.workspace_user = &defined->python_implementations.back();
  }
  op.user = defined.get();
  defined->amends = flag("amends");
  if (flag("extends")) {
    op.flags |= TARSIA_OP_EXTENDS;
  } else {
    op.create_params = create_params;
    op.destroy_params = destroy_params;
  }
  if (flag("counts_outputs")) op.arity = count_outputs;
  if (flag("infers")) op.infer = infer;
  if (flag("stateful")) op.create_state = create_state;
  const tarsia_op* described = &op;
  tarsia_library* library = nullptr;
  const char* name = op.name;
  Defined* const kept = defined.release();
  if (tarsia_define_ops(name, &described, 1, release_defined, kept, &library)) {
    raise_last_error();
    throw nb::python_error();
  }
  kept->library = library;
  enter(g_defined, kept);
  uint64_t n = 0;
  const tarsia_diagnostic* warnings = tarsia_library_warnings(library, &n);
  bool is_error = false;  // under -W error
  for (uint64_t i = 0; i < n && !is_error; ++i) is_error = !warn_caller(warnings[i].message);
  const std::shared_ptr<tarsia_library> held(library, tarsia_library_release);  // the registry keeps it, too
  if (is_error) throw nb::python_error();
  return nb::cpp_function([held] { tarsia_library_unload(held.get()); });
}

}  // namespace

void add_python_ops(nb::module_& module) {
  g_importing_thread = std::this_thread::get_id();
  module.def("define_op", define_op);
  module.def("forget_ops", forget_ops);
}

}  // namespace tarsia::python
