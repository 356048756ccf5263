// Calls of bound ops.
#include "bound_op.h"

#include <algorithm>
#include <cstring>

#include "call.h"
#include "errors.h"
#include "op_text.h"
#include "result.h"
#include "tensor.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

struct BoundObject {
  PyObject head;
  vectorcallfunc vectorcall;
  tarsia_op_handle* op;
  const tarsia_op* description;
  tarsia_bound_op* bound;
  const tarsia_meta* inputs;
  const tarsia_meta* outputs;
  uint32_t n_inputs, n_outputs;
  tarsia_device device;
};

BoundObject* self_of(PyObject* object) {
  return reinterpret_cast<BoundObject*>(object);
}

const tarsia_port* port_of(const tarsia_op& op, uint32_t i) {
  return op.n_inputs ? &op.inputs[std::min(i, op.n_inputs - 1)] : nullptr;
}

std::string input_name(const tarsia_op& op, uint32_t i) {
  const tarsia_port* port = port_of(op, i);
  return "input " + std::to_string(i + 1) + (port && *port->name ? std::string(" '") + port->name + "'" : "");
}

/// Reads a tensor; the error names it as `which()`. Null with an error set on failure.
template <class Which>
const tarsia_tensor* read_tensor(Frame& frame, const tarsia_op& op, PyObject* object, bool writes,
                                 Which which) {
  View* view = frame.new_view(object);
  const Why why = view_of(frame, *view);
  const auto refuse = [&](bool is_value_error, const std::string& words) {
    raise_argument_error(is_value_error, std::string(op.name) + ": " + which() + words);
    return nullptr;
  };
  if (why == Why::failed || why == Why::unreadable) return nullptr;
  if (why != Why::fits)
    return refuse(false, " must be a tensor of numbers, got " + describe_argument(object));
  if (writes && view->read_only) return refuse(true, " is written to, but is read-only; pass a copy");
  if (!view->tensor.data && element_count(view->tensor) != 0)
    return refuse(true, " has no memory behind it (a meta or fake tensor)");
  return &view->tensor;
}

/// One pass of a bound op: what goes out of it, and what of that the caller sees. Backward gives the
/// gradients of the inputs.
struct Pass {
  const BoundObject* self;
  tarsia_pass pass;

  uint32_t n() const { return pass == TARSIA_FORWARD ? self->n_outputs : self->n_inputs; }
  const tarsia_meta& meta(uint32_t i) const {
    return pass == TARSIA_FORWARD ? self->outputs[i] : self->inputs[i];
  }
  /// Whether it is made, but not given to the caller.
  bool is_hidden(uint32_t i) const {
    const tarsia_op& op = *self->description;
    return pass == TARSIA_FORWARD && i < op.n_outputs && op.outputs[i].flags & TARSIA_PORT_HIDDEN;
  }
  /// Whether there is such an output at all: not every input has a gradient.
  bool is_wanted(uint32_t i) const {
    if (pass == TARSIA_FORWARD) return true;
    const tarsia_port* port = port_of(*self->description, i);
    return meta(i).present && !(port && port->flags & (TARSIA_PORT_NO_GRADIENT | TARSIA_PORT_MUTABLE));
  }
};

/// The outputs of a call: given by the caller, or made by the framework of its tensors.
class Outputs {
 public:
  Outputs(Pass pass, Frame& frame)
      : m_pass(pass),
        m_frame(frame),
        m_n(pass.n()),
        m_tensors(frame.room_for<const tarsia_tensor*>(m_n)),
        m_made(frame.room_for<tarsia_storage*>(m_n)),
        m_requests(frame.room_for<uint8_t>(m_n)) {
    for (uint32_t i = 0; i < m_n; ++i) {
      m_tensors[i] = nullptr;
      m_made[i] = nullptr;
      m_requests[i] = pass.is_wanted(i) ? TARSIA_REQUEST_WRITE : TARSIA_REQUEST_NULL;
      m_n_visible += !pass.is_hidden(i);
    }
  }
  ~Outputs() {
    for (uint32_t i = 0; i < m_n; ++i)
      if (m_made[i]) release(m_made[i]);
  }
  Outputs(const Outputs&) = delete;
  Outputs& operator=(const Outputs&) = delete;

  /// Takes `out`: a tensor, or a list or tuple of as many as there are visible outputs.
  bool take(PyObject* out) {
    const bool is_list = PyList_Check(out) || PyTuple_Check(out);
    PyObject* items = is_list ? PySequence_Tuple(out) : PyTuple_Pack(1, out);
    if (!items) return false;
    m_frame.keep(items);
    const tarsia_op& op = *m_pass.self->description;
    if (PyTuple_Size(items) != m_n_visible) {
      raise_argument_error(false, std::string(op.name) + ": out must have " + std::to_string(m_n_visible) +
                                      " tensors, got " + std::to_string(PyTuple_Size(items)));
      return false;
    }
    m_given = out;
    Py_ssize_t next = 0;
    for (uint32_t i = 0; i < m_n; ++i) {
      if (m_pass.is_hidden(i)) continue;
      PyObject* item = PyTuple_GetItem(items, next++);
      if (item == Py_None && !m_pass.is_wanted(i)) continue;
      m_tensors[i] = read_tensor(m_frame, op, item, true, [] { return "out"; });
      if (!m_tensors[i]) return false;
    }
    return true;
  }

  /// Makes the outputs that were not given. A Call has to be under way.
  bool make() {
    const tarsia_host* host = tarsia_get_host();
    for (uint32_t i = 0; i < m_n; ++i) {
      if (m_tensors[i] || !m_pass.is_wanted(i)) continue;
      const tarsia_meta& meta = m_pass.meta(i);
      m_made[i] = host->empty(meta.shape, meta.ndim, meta.dtype, m_pass.self->device);
      if (!m_made[i]) {
        raise_last_error();
        return false;
      }
      m_tensors[i] = m_made[i]->tensor;
    }
    return true;
  }

  /// Fills in a call's outputs.
  void put_into(tarsia_op_call& call) const {
    call.n_outputs = m_n;
    call.outputs = m_tensors;
    call.requests = m_requests;
    call.pass = m_pass.pass;
  }

  /// What the call returns: `out` as it was given, one tensor, a tuple of several, or None.
  PyObject* object() {
    if (m_given || m_n_visible == 0) return Ref::borrow(m_given ? m_given : Py_None).release();
    Ref tuple(m_n_visible > 1 ? PyTuple_New(m_n_visible) : nullptr);
    Py_ssize_t next = 0;
    for (uint32_t i = 0; i < m_n; ++i) {
      if (m_pass.is_hidden(i)) continue;
      tarsia_storage* made = std::exchange(m_made[i], nullptr);
      PyObject* item = made ? tensor_object(m_frame, made) : Ref::borrow(Py_None).release();
      if (!item || m_n_visible == 1) return item;
      PyTuple_SetItem(tuple.get(), next++, item);
    }
    return tuple.release();
  }

 private:
  Pass m_pass;
  Frame& m_frame;
  uint32_t m_n;
  const tarsia_tensor** m_tensors;
  tarsia_storage** m_made;
  uint8_t* m_requests;
  Py_ssize_t m_n_visible = 0;
  PyObject* m_given = nullptr;
};

PyObject* run(Pass pass, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n, PyObject* out) {
  Outputs outputs(pass, frame);
  if (out && !outputs.take(out)) return nullptr;
  const Call call(frame);
  if (!outputs.make()) return nullptr;
  tarsia_op_call request{};
  request.size = sizeof request;
  request.n_inputs = n;
  request.inputs = inputs;
  outputs.put_into(request);
  tarsia_bound_op* bound = pass.self->bound;
  if (tarsia_bound_check(bound, &request)) return raise_last_error();
  int32_t code;
  {
    const Unlocked unlocked(true);
    code = tarsia_bound_call(bound, &request);
  }
  return code ? raise_last_error() : outputs.object();
}

/// The only keyword of a bound op's call.
bool find_out(const tarsia_op& op, PyObject* names, PyObject* const* values, PyObject*& out) {
  const Py_ssize_t n = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    const std::string name = text_of(PyTuple_GetItem(names, i));
    if (name != "out") {
      raise_argument_error(false, std::string(op.name) + ": a bound op takes tensors and out=…, not '" +
                                      name + "'; attributes are given when it is bound");
      return false;
    }
    if (values[i] != Py_None) out = values[i];
  }
  return true;
}

PyObject* call(PyObject* object, PyObject* const* args, size_t nargs, PyObject* names) {
  const tarsia_op& op = *self_of(object)->description;
  const auto n = static_cast<uint32_t>(PyVectorcall_NARGS(nargs));
  try {
    PyObject* out = nullptr;
    if (names && !find_out(op, names, args + n, out)) return nullptr;
    Frame frame;
    auto** inputs = frame.room_for<const tarsia_tensor*>(n);
    if (!read_inputs(frame, op, args, n, inputs)) return nullptr;
    return run_bound(object, frame, inputs, n, out);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// bound.backward(*gradients of outputs, *inputs, *outputs, out=None): the gradients of the inputs.
PyObject* backward(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const BoundObject* self = self_of(object);
  try {
    PyObject* out = nullptr;
    if (names && !find_out(*self->description, names, args + n, out)) return nullptr;
    Frame frame;
    auto** inputs = frame.room_for<const tarsia_tensor*>(n);
    frame.given = args;
    frame.n_given = static_cast<uint32_t>(n);
    for (Py_ssize_t i = 0; i < n; ++i) {
      inputs[i] = nullptr;
      if (args[i] == Py_None) continue;
      inputs[i] = read_tensor(frame, *self->description, args[i], false,
                              [&] { return "argument " + std::to_string(i + 1) + " of backward"; });
      if (!inputs[i]) return nullptr;
    }
    return run({self, TARSIA_BACKWARD}, frame, inputs, static_cast<uint32_t>(n), out);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

void dealloc(PyObject* object) {
  BoundObject* self = self_of(object);
  PyTypeObject* type = Py_TYPE(object);
  tarsia_bound_release(self->bound);
  tarsia_op_release(self->op);
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* repr(PyObject* object) {
  return PyUnicode_FromFormat("<tarsia.BoundOp %s>", op_text(*self_of(object)->description).c_str());
}

PyObject* get_name(PyObject* object, void*) {
  return PyUnicode_FromString(self_of(object)->description->name);
}

PyObject* get_inputs(PyObject* object, void*) {
  return metas_object(self_of(object)->inputs, self_of(object)->n_inputs);
}

PyObject* get_outputs(PyObject* object, void*) {
  return metas_object(self_of(object)->outputs, self_of(object)->n_outputs);
}

PyObject* get_has_backward(PyObject* object, void*) {
  return PyBool_FromLong(tarsia_bound_has_backward(self_of(object)->bound));
}

PyMethodDef g_methods[] = {{"backward", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(backward)),
                            METH_FASTCALL | METH_KEYWORDS,
                            "backward($self, /, *tensors, out=None)\n--\n\nThe gradients of the inputs, from "
                            "the gradients of the outputs, "
                            "the inputs and the outputs, in this order. None for inputs without gradient."},
                           {nullptr, nullptr, 0, nullptr}};
PyGetSetDef g_properties[] = {
    {"has_backward", get_has_backward, nullptr, "Whether backward() can be called.", nullptr},
    {"name", get_name, nullptr, "The op's name.", nullptr},
    {"inputs", get_inputs, nullptr, "(shape, dtype) of each input, None for an absent one.", nullptr},
    {"outputs", get_outputs, nullptr, "(shape, dtype) of each output, hidden ones included.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef g_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot g_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_methods, g_methods},
    {Py_tp_getset, g_properties},
    {Py_tp_members, g_members},
    {Py_tp_doc,
     const_cast<char*>("An op bound to shapes, dtypes, a device and attributes. Call it with tensors; "
                       "out= takes a tensor, or a tuple of tensors, to write to.")},
    {0, nullptr}};
PyType_Spec g_spec = {"tarsia.BoundOp", sizeof(BoundObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
                      g_slots};

}  // namespace

bool add_bound_type(PyObject* module) {
  const Ref type(PyType_FromSpec(&g_spec));
  if (!type || PyObject_SetAttrString(module, "BoundOp", type.get()) != 0) return false;
  g_type = reinterpret_cast<PyTypeObject*>(Ref::borrow(type.get()).release());
  return true;
}

PyObject* make_bound(tarsia_op_handle* op, tarsia_bound_op* stolen, tarsia_device device) {
  PyObject* object = PyType_GenericAlloc(g_type, 0);
  if (!object) {
    tarsia_bound_release(stolen);
    return nullptr;
  }
  BoundObject* self = self_of(object);
  tarsia_op_retain(op);
  self->op = op;
  self->description = tarsia_op_describe(op);
  self->bound = stolen;
  self->vectorcall = call;
  self->inputs = tarsia_bound_inputs(stolen, &self->n_inputs);
  self->outputs = tarsia_bound_outputs(stolen, &self->n_outputs);
  self->device = device;
  return object;
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
    inputs[i] = read_tensor(frame, op, args[i], writes, [&] { return input_name(op, i); });
    if (!inputs[i]) return false;
  }
  return true;
}

tarsia_device device_of(const Frame& frame) {
  return frame.gpu >= 0 ? tarsia_device{TARSIA_GPU, frame.gpu} : tarsia_device{TARSIA_CPU, 0};
}

bool is_bound_for(PyObject* bound, const Frame& frame, const tarsia_tensor* const* inputs, uint32_t n) {
  const BoundObject* self = self_of(bound);
  const tarsia_device device = device_of(frame);
  if (n > self->n_inputs || device.type != self->device.type || device.id != self->device.id) return false;
  for (uint32_t i = 0; i < self->n_inputs; ++i) {
    const tarsia_meta& meta = self->inputs[i];
    const tarsia_tensor* input = i < n ? inputs[i] : nullptr;
    if ((input != nullptr) != (meta.present != 0)) return false;
    if (!input) continue;
    if (!(input->dtype == meta.dtype) || input->ndim != meta.ndim ||
        std::memcmp(input->shape, meta.shape, sizeof(int64_t) * meta.ndim) != 0)
      return false;
  }
  return true;
}

PyObject* run_bound(PyObject* bound, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
                    PyObject* out) {
  const BoundObject* self = self_of(bound);
  if (n < self->n_inputs) {  // optional ones at the end may be left out
    auto** all = frame.room_for<const tarsia_tensor*>(self->n_inputs);
    for (uint32_t i = 0; i < self->n_inputs; ++i) all[i] = i < n ? inputs[i] : nullptr;
    inputs = all;
    n = self->n_inputs;
  }
  return run({self, TARSIA_FORWARD}, frame, inputs, n, out);
}

}  // namespace tarsia::python
