// Calls of bound ops.
#include "python/op/bound_op.h"

#include <tarsia/detail/names.h>
#include <tarsia/detail/support.h>

#include <cstring>
#include <vector>

#include "python/call/call.h"
#include "python/core/describe.h"
#include "python/core/errors.h"
#include "python/core/pickling.h"
#include "python/op/named_inputs.h"
#include "python/op/op_text.h"
#include "python/op/python_op.h"
#include "python/op/sparse.h"
#include "python/tensor/writes.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

struct BoundObject {
  PyObject head;
  vectorcallfunc vectorcall;
  Bound bound;
  tarsia_op* own;  ///< the description, where attributes decide its inputs; else null
};

BoundObject* self_of(PyObject* object) {
  return reinterpret_cast<BoundObject*>(object);
}

std::string input_name(const tarsia_op& op, uint32_t i) {
  const tarsia_port* port = port_of(op, i);
  return "input " + std::to_string(i) + (port && *port->name ? std::string(" '") + port->name + "'" : "");
}

/// Raises, and returns false, unless every tensor has the storage type that the op is bound to.
bool check_storage(const Pass& pass, const Frame& frame, const tarsia_tensor* const* inputs, uint32_t n) {
  const Bound& bound = *pass.bound;
  const bool backward = pass.pass == TARSIA_BACKWARD;
  for (uint32_t i = 0; i < n; ++i) {
    if (!inputs[i]) continue;
    const uint32_t first = backward ? bound.n_outputs : 0, last = first + bound.n_inputs;
    if (i >= last + first) return true;  // the wrong number: a later check reports it
    const tarsia_meta& meta = i < first  ? bound.outputs[i]
                              : i < last ? bound.inputs[i - first]
                                         : bound.outputs[i - last];
    if (storage_of(frame, inputs[i]) == meta.storage) continue;
    static constexpr const char* k_storages[] = {"dense", "row-sparse", "CSR"};
    raise_argument_error(false, std::string(bound.description->name) + ": tensor " + std::to_string(i) +
                                    " is " + k_storages[storage_of(frame, inputs[i])] +
                                    "; the op is bound to a " + k_storages[meta.storage] +
                                    " one: bind it again");
    return false;
  }
  return true;
}

/// Raises, and returns false, unless inputs that inference found mutable are writable.
bool check_mutable(const Bound& bound, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n) {
  for (uint32_t i = 0; i < n && i < bound.n_inputs; ++i) {
    if (!(bound.inputs[i].flags & TARSIA_PORT_MUTABLE) || !inputs[i]) continue;
    for (View* view = frame.last_view; view; view = view->previous) {
      if (&view->tensor != inputs[i]) continue;
      view->is_written = frame.writes = true;
      if (view->read_only) {
        raise_argument_error(true, std::string(bound.description->name) + ": " +
                                       input_name(*bound.description, i) +
                                       " is written to, but is read-only; pass a copy");
        return false;
      }
    }
  }
  return true;
}

PyObject* run(Pass pass, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
              const OutputArguments& output_arguments) {
  Outputs outputs(pass, frame);
  if ((output_arguments.out || output_arguments.req) && !outputs.take(output_arguments)) return nullptr;
  if (!check_storage(pass, frame, inputs, n)) return nullptr;
  if (pass.pass == TARSIA_FORWARD && !check_mutable(*pass.bound, frame, inputs, n)) return nullptr;
  const Call call(frame);
  const CallUnderWay under_way(frame, outputs);
  if (!outputs.make()) return nullptr;
  tarsia_op_call request{};
  request.size = sizeof request;
  request.n_inputs = n;
  request.inputs = inputs;
  outputs.put_into(request);
  tarsia_bound_op* bound = pass.bound->bound;
  if (tarsia_bound_check(bound, &request)) return raise_last_error();
  frame.callee = pass.bound->description->name;
  if (!tell_writes(frame)) return nullptr;
  int32_t code;
  {
    const Unlocked unlocked(true);
    code = tarsia_bound_call(bound, &request);
  }
  if (frame.interrupted) return raise_interruption_of_call();
  return code ? raise_last_error() : outputs.object();
}

PyObject* run_forward(Pass pass, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
                      const OutputArguments& output_arguments) {
  const uint32_t n_inputs = pass.bound->n_inputs;
  if (n >= n_inputs) return run(pass, frame, inputs, n, output_arguments);
  auto** all = frame.room_for<const tarsia_tensor*>(n_inputs);  // optional ones at the end may be left out
  for (uint32_t i = 0; i < n_inputs; ++i) all[i] = i < n ? inputs[i] : nullptr;
  return run(pass, frame, all, n_inputs, output_arguments);
}

/// The keywords of a bound op's call.
bool read_output_arguments(const tarsia_op& op, PyObject* names, PyObject* const* values,
                           OutputArguments& output_arguments) {
  const Py_ssize_t n = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const std::string name = text_of(PyTuple_GetItem(names, i));
    if (name != "out" && name != "req") {
      raise_argument_error(false, std::string(op.name) +
                                      ": a bound op takes tensors, out=… and req=…, not '" + name +
                                      "'; attributes are given when it is bound");
      return false;
    }
    if (values[i] != Py_None) (name == "out" ? output_arguments.out : output_arguments.req) = values[i];
  }
  return true;
}

PyObject* call(PyObject* object, PyObject* const* args, size_t nargs, PyObject* names) {
  const tarsia_op& op = *self_of(object)->bound.description;
  const auto n = static_cast<uint32_t>(PyVectorcall_NARGS(nargs));
  try {
    if (names) {
      NamedInputs named;
      if (named.take(op, args, n, names)) return call(object, named.args(), named.n(), named.names());
      if (PyErr_Occurred()) return nullptr;
    }
    OutputArguments output_arguments;
    if (names && !read_output_arguments(op, names, args + n, output_arguments)) return nullptr;
    Frame frame;
    auto** inputs = frame.room_for<const tarsia_tensor*>(n);
    if (!read_inputs(frame, op, args, n, inputs)) return nullptr;
    return run_bound(object, frame, inputs, n, output_arguments);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// bound.with_hidden(*inputs): as a call, with the hidden outputs.
PyObject* with_hidden(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const Bound& bound = self_of(object)->bound;
  const auto count = static_cast<uint32_t>(n);
  try {
    if (names) {
      NamedInputs named;
      if (named.take(*bound.description, args, count, names) && !named.names())
        return with_hidden(object, named.args(), named.n(), nullptr);
      if (!PyErr_Occurred())
        raise_argument_error(false, std::string(bound.description->name) +
                                        ": with_hidden() takes tensors alone, in their order or by name");
      return nullptr;
    }
    Frame frame;
    auto** inputs = frame.room_for<const tarsia_tensor*>(count);
    if (!read_inputs(frame, *bound.description, args, count, inputs)) return nullptr;
    return run_forward({&bound, TARSIA_FORWARD, true}, frame, inputs, count, {});
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// The tensors of backward(out_grads, inputs, outputs) in one row. Each argument is a tensor or a list of
/// them; None stands for hidden outputs that were left out. They live as long as the frame. False with an
/// error set on failure.
bool flatten(Frame& frame, const Bound& bound, PyObject* const* args, Py_ssize_t n,
             std::vector<PyObject*>& all) {
  bool grouped = false;
  for (Py_ssize_t i = 0; i < n; ++i) grouped |= PyList_Check(args[i]) || PyTuple_Check(args[i]);
  const Pass forward{&bound, TARSIA_FORWARD};
  uint32_t n_visible = 0;
  for (uint32_t i = 0; i < bound.n_outputs; ++i) n_visible += !forward.is_hidden(i);
  if (!grouped && (n == 2 || n == 3) && bound.n_inputs == 1 && n_visible == 1) grouped = true;
  if (!grouped) {
    all.assign(args, args + n);
    return true;
  }
  const uint32_t sizes[] = {bound.n_outputs, bound.n_inputs, bound.n_outputs};
  static constexpr const char* k_names[] = {"out_grads", "inputs", "outputs"};
  if (n > 3) {
    raise_argument_error(false,
                         std::string(bound.description->name) +
                             ": backward takes out_grads, inputs and outputs, each a tensor or a list");
    return false;
  }
  for (Py_ssize_t k = 0; k < 3; ++k) {
    PyObject* group = k < n ? args[k] : Py_None;
    if (k == 2 && group == Py_None) {
      all.insert(all.end(), sizes[k], Py_None);
      continue;
    }
    const bool is_list = PyList_Check(group) || PyTuple_Check(group);
    PyObject* items = is_list ? run_python<PySequence_Tuple>(group) : PyTuple_Pack(1, group);
    if (!items) return false;
    frame.keep(items);
    const Py_ssize_t n_items = PyTuple_Size(items);
    const bool without_hidden = k != 1 && n_items == n_visible;
    if (n_items != sizes[k] && !without_hidden) {
      raise_argument_error(false, std::string(bound.description->name) + ": backward takes " +
                                      std::to_string(k == 1 ? sizes[k] : n_visible) + " " + k_names[k] +
                                      ", got " + std::to_string(n_items));
      return false;
    }
    Py_ssize_t next = 0;
    for (uint32_t i = 0; i < sizes[k]; ++i)
      all.push_back(without_hidden && forward.is_hidden(i) ? Py_None : PyTuple_GetItem(items, next++));
  }
  return true;
}

/// bound.backward(out_grads, inputs, outputs, out=None, req=None): the gradients of the inputs.
PyObject* backward(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  try {
    OutputArguments output_arguments;
    if (names &&
        !read_output_arguments(*self_of(object)->bound.description, names, args + n, output_arguments))
      return nullptr;
    return run_backward(object, args, n, output_arguments);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

void dealloc(PyObject* object) {
  BoundObject* self = self_of(object);
  PyTypeObject* type = Py_TYPE(object);
  tarsia_bound_release(self->bound.bound);
  tarsia_op_release(self->bound.op);
  delete self->own;
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* repr(PyObject* object) {
  return PyUnicode_FromFormat("<tarsia.BoundOp %s>", op_text(*self_of(object)->bound.description).c_str());
}

PyObject* get_name(PyObject* object, void*) {
  return PyUnicode_FromString(self_of(object)->bound.description->name);
}

PyObject* get_inputs(PyObject* object, void*) {
  return metas_object(self_of(object)->bound.inputs, self_of(object)->bound.n_inputs);
}

PyObject* get_outputs(PyObject* object, void*) {
  return metas_object(self_of(object)->bound.outputs, self_of(object)->bound.n_outputs);
}

PyObject* get_has_backward(PyObject* object, void*) {
  return PyBool_FromLong(tarsia_bound_has_backward(self_of(object)->bound.bound));
}

tarsia_bound_pass pass_of(PyObject* object, tarsia_pass pass) {
  return describe_pass(self_of(object)->bound.bound, pass);
}

PyObject* pairs_object(const tarsia_bound_pass& pass) {
  Ref list(PyList_New(0));
  for (uint32_t i = 0; list && i < pass.n_inplace; ++i) {
    const Ref pair(Py_BuildValue("II", pass.inplace[i].input, pass.inplace[i].output));
    if (!pair || PyList_Append(list.get(), pair.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* needs_object(const tarsia_bound_pass& pass) {
  return tuple_of(pass.n_needs, [&](uint64_t i) { return PyBool_FromLong(pass.needs[i]); });
}

PyObject* list_of_texts(const char* const* texts, uint64_t n) {
  Ref list(PyList_New(0));
  for (uint64_t i = 0; list && i < n; ++i) {
    const Ref text(PyUnicode_FromString(texts[i]));
    if (!text || PyList_Append(list.get(), text.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* conversions_object(const tarsia_bound_pass& pass) {
  return list_of_texts(pass.conversions, pass.n_conversions);
}

PyObject* layouts_object(const tarsia_bound_pass& pass) {
  return list_of_texts(pass.layouts, pass.n_layouts);
}

/// Seconds by name, None for what failed.
PyObject* measured_object(const tarsia_bound_pass& pass) {
  Ref times(PyDict_New());
  for (uint64_t i = 0; times && i < pass.n_measured; ++i) {
    const tarsia_measured_time& one = pass.measured[i];
    const Ref seconds(one.seconds < 0 ? Ref::borrow(Py_None).release() : PyFloat_FromDouble(one.seconds));
    if (!seconds || PyDict_SetItemString(times.get(), one.name, seconds.get()) != 0) return nullptr;
  }
  return times.release();
}

/// The getters of a property, of forward and of backward.
template <PyObject* (*k_object)(const tarsia_bound_pass&), tarsia_pass k_pass>
PyObject* get_of_pass(PyObject* object, void*) {
  return k_object(pass_of(object, k_pass));
}
PyObject* name_object(const tarsia_bound_pass& pass) {
  return pass.implementation ? PyUnicode_FromString(pass.name) : Ref::borrow(Py_None).release();
}
PyObject* workspace_object(const tarsia_bound_pass& pass) {
  return PyLong_FromUnsignedLongLong(pass.workspace);
}

PyMethodDef g_methods[] = {
    TARSIA_PICKLING_METHODS,
    {"backward", as_method(backward), METH_FASTCALL | METH_KEYWORDS,
     "backward($self, /, out_grads, inputs, outputs=None, *, out=None, req=None)\n--\n\n"
     "A tuple of the gradients of the inputs, None for inputs without gradient. Each "
     "argument is a tensor or a list of tensors; the tensors may also be given in one row."},
    {"with_hidden", as_method(with_hidden), METH_FASTCALL | METH_KEYWORDS,
     "with_hidden($self, /, *inputs)\n--\n\n"
     "Runs the op as a call does, and gives all of its outputs, hidden ones included: what backward takes "
     "as outputs."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef g_properties[] = {
    {"has_backward", get_has_backward, nullptr, "Whether backward() can be called.", nullptr},
    {"implementation", get_of_pass<name_object, TARSIA_FORWARD>, nullptr,
     "The name of the implementation that runs, or 'cpu #2', the second of its device and pass.", nullptr},
    {"backward_implementation", get_of_pass<name_object, TARSIA_BACKWARD>, nullptr,
     "The same of backward; None if it cannot be called.", nullptr},
    {"inplace", get_of_pass<pairs_object, TARSIA_FORWARD>, nullptr,
     "Pairs of the numbers of an input and an output that may share memory.", nullptr},
    {"backward_inplace", get_of_pass<pairs_object, TARSIA_BACKWARD>, nullptr,
     "The same of backward, which counts output gradients, inputs and outputs in one row, and input "
     "gradients.",
     nullptr},
    {"backward_needs", get_of_pass<needs_object, TARSIA_BACKWARD>, nullptr,
     "Whether backward needs each output gradient, input and output, counted in one row; None will do for "
     "others. Empty: it needs all.",
     nullptr},
    {"workspace", get_of_pass<workspace_object, TARSIA_FORWARD>, nullptr,
     "The most bytes of scratch that the implementation says it takes; 0 if it says nothing.", nullptr},
    {"backward_workspace", get_of_pass<workspace_object, TARSIA_BACKWARD>, nullptr, "The same of backward.",
     nullptr},
    {"conversions", get_of_pass<conversions_object, TARSIA_FORWARD>, nullptr,
     "What every call converts, such as \"input 'x': csr -> dense\".", nullptr},
    {"backward_conversions", get_of_pass<conversions_object, TARSIA_BACKWARD>, nullptr,
     "What every call of backward converts.", nullptr},
    {"layouts", get_of_pass<layouts_object, TARSIA_FORWARD>, nullptr,
     "What the implementation takes otherwise than row-major, such as \"input 'x': axes (0, 2, 3, 1)\".",
     nullptr},
    {"backward_layouts", get_of_pass<layouts_object, TARSIA_BACKWARD>, nullptr, "The same of backward.",
     nullptr},
    {"measured", get_of_pass<measured_object, TARSIA_FORWARD>, nullptr,
     "Seconds of a call by the name of each implementation that applies, None for one that failed; empty "
     "unless the choice was measured.",
     nullptr},
    {"backward_measured", get_of_pass<measured_object, TARSIA_BACKWARD>, nullptr, "The same of backward.",
     nullptr},
    {"name", get_name, nullptr, "The op's name.", nullptr},
    {"inputs", get_inputs, nullptr, "(shape, dtype) of each input, None for an absent one.", nullptr},
    {"outputs", get_outputs, nullptr, "(shape, dtype) of each output, hidden ones included.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot g_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_new, reinterpret_cast<void*>(refuse_new<"bind() of a tarsia.Op gives one">)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, g_methods},
    {Py_tp_getset, g_properties},
    {Py_tp_members, g_members},
    {Py_tp_doc, const_cast<char*>(
                    "An op bound to shapes, dtypes, a device and attributes. Call it with tensors; "
                    "out= takes a tensor, or a tuple of tensors, to write to; req= says how: 'write', 'add', "
                    "'inplace' or 'null', for all outputs or one for each.")},
    {0, nullptr}};
PyType_Spec g_spec = {"tarsia.BoundOp", sizeof(BoundObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL, g_slots};

}  // namespace

bool add_bound_type(PyObject* module) {
  return add_type(module, g_spec, "BoundOp", g_type);
}

tarsia_bound_pass describe_pass(const tarsia_bound_op* bound, tarsia_pass pass) {
  tarsia_bound_pass description{};
  description.size = sizeof description;
  tarsia_bound_describe(bound, pass, &description);
  return description;
}

bool warn_of_conversions(const tarsia_op& op, const tarsia_bound_op* bound, tarsia_pass pass) {
  const tarsia_bound_pass description = describe_pass(bound, pass);
  if (!description.n_conversions) [[likely]]
    return true;
  const Ref module(import_module("tarsia._sparse")), conversions(conversions_object(description));
  return module && conversions &&
         Ref(call_method(module.get(), "warn_of_conversions", "ssO", op.name, tarsia::detail::pass_name(pass),
                         conversions.get()));
}

bool read_choice(const char* who, PyObject* object, uint32_t& choice) {
  const std::string text = PyUnicode_Check(object) ? text_of(object) : "";
  if (object == Py_None)
    choice = TARSIA_CHOICE_OF_PROCESS;
  else if (text == "measure")
    choice = TARSIA_CHOICE_MEASURE;
  else if (text == "priority")
    choice = TARSIA_CHOICE_PRIORITY;
  else
    raise_argument_error(PyUnicode_Check(object),
                         std::string(who) + ": implementation is 'measure', 'priority' or None, not " +
                             (PyUnicode_Check(object) ? "'" + text + "'" : describe_argument(object)));
  return !PyErr_Occurred();
}

PyObject* make_bound(tarsia_op_handle* op, tarsia_bound_op* stolen, tarsia_device device, uint32_t choice) {
  PyObject* object = PyType_GenericAlloc(g_type, 0);
  if (!object) {
    tarsia_bound_release(stolen);
    return nullptr;
  }
  BoundObject* self = self_of(object);
  tarsia_op_retain(op);
  const tarsia_op& described = *tarsia_op_describe(op);
  if (TARSIA_DETAIL_GIVES(described, name_inputs)) {
    self->own = new tarsia_op(described);
    self->own->inputs = tarsia_bound_ports(stolen, &self->own->n_inputs);
  }
  self->vectorcall = call;
  Bound& bound = self->bound;
  bound.op = op;
  bound.description = self->own ? self->own : &described;
  bound.bound = stolen;
  bound.inputs = tarsia_bound_inputs(stolen, &bound.n_inputs);
  bound.outputs = tarsia_bound_outputs(stolen, &bound.n_outputs);
  bound.device = device;
  bound.choice = choice;
  return object;
}

tarsia_bound_op* bound_of(PyObject* object) {
  if (Py_TYPE(object) == g_type) return self_of(object)->bound.bound;
  raise_argument_error(false, "a tarsia.BoundOp is needed, not " + describe_argument(object));
  return nullptr;
}

tarsia_captured_graph* capture_bound(PyObject* object) {
  if (!bound_of(object)) return nullptr;
  const Bound& bound = self_of(object)->bound;
  tarsia_op_request request{};
  request.size = sizeof request;
  request.n_inputs = bound.n_inputs;
  request.inputs = bound.inputs;
  request.device = bound.device;
  request.choice = bound.choice;
  tarsia_captured_graph* captured = nullptr;
  int32_t code;
  {
    const Unlocked unlocked(true);
    code = tarsia_graph_capture(bound.op, &request, &captured);
  }
  if (code) raise_last_error();
  return captured;
}

bool read_inputs(Frame& frame, const tarsia_op& op, PyObject* const* args, uint32_t n,
                 const tarsia_tensor** inputs) {
  frame.given = args;
  frame.n_given = n;
  for (uint32_t i = 0; i < n; ++i) {
    inputs[i] = nullptr;
    if (args[i] == Py_None) continue;
    const tarsia_port* port = port_of(op, i);
    const bool writes = port && port->flags & TARSIA_PORT_MUTABLE;
    inputs[i] = read_tensor(frame, op, args[i], writes, input_name, i);
    if (!inputs[i]) return false;
  }
  return true;
}

tarsia_device device_of(const Frame& frame) {
  return frame.gpu >= 0 ? tarsia_device{TARSIA_GPU, frame.gpu} : tarsia_device{TARSIA_CPU, 0};
}

bool is_bound_for(PyObject* bound, const Frame& frame, const tarsia_tensor* const* inputs, uint32_t n) {
  const Bound* self = &self_of(bound)->bound;
  const tarsia_device device = device_of(frame);
  if (n > self->n_inputs || device.type != self->device.type || device.id != self->device.id) return false;
  for (uint32_t i = 0; i < self->n_inputs; ++i) {
    const tarsia_meta& meta = self->inputs[i];
    const tarsia_tensor* input = i < n ? inputs[i] : nullptr;
    if ((input != nullptr) != (meta.present != 0)) return false;
    if (!input) continue;
    if (!(input->dtype == meta.dtype) || input->ndim != meta.ndim ||
        std::memcmp(input->shape, meta.shape, sizeof(int64_t) * meta.ndim) != 0 ||
        storage_of(frame, input) != meta.storage)
      return false;
  }
  return true;
}

PyObject* run_bound(PyObject* bound, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
                    const OutputArguments& output_arguments) {
  return run_forward({&self_of(bound)->bound, TARSIA_FORWARD}, frame, inputs, n, output_arguments);
}

PyObject* run_backward(PyObject* object, PyObject* const* args, Py_ssize_t n,
                       const OutputArguments& output_arguments) {
  const Bound& bound = self_of(object)->bound;
  if (!warn_of_conversions(*bound.description, bound.bound, TARSIA_BACKWARD)) return nullptr;
  Frame frame;
  std::vector<PyObject*> all;
  if (!flatten(frame, bound, args, n, all)) return nullptr;
  auto** inputs = frame.room_for<const tarsia_tensor*>(all.size());
  frame.given = all.data();
  frame.n_given = static_cast<uint32_t>(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    inputs[i] = nullptr;
    if (all[i] == Py_None) continue;
    inputs[i] = read_tensor(
        frame, *bound.description, all[i], false,
        [](const tarsia_op&, uint32_t k) { return "argument " + std::to_string(k + 1) + " of backward"; },
        static_cast<uint32_t>(i));
    if (!inputs[i]) return nullptr;
  }
  return run({&bound, TARSIA_BACKWARD}, frame, inputs, static_cast<uint32_t>(all.size()), output_arguments);
}

}  // namespace tarsia::python
