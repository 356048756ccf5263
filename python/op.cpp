// Operations in Python: `op.bind(*inputs, **attributes)` and calls of what it gives.
#include "op.h"

#include <vector>

#include "attributes.h"
#include "call.h"
#include "errors.h"
#include "result.h"
#include "tensor.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_op_type = nullptr;
PyTypeObject* g_bound_type = nullptr;

struct OpObject {
  PyObject head;
  vectorcallfunc vectorcall;
  tarsia_op_handle* handle;
};

struct BoundObject {
  PyObject head;
  vectorcallfunc vectorcall;
  tarsia_op_handle* op;
  tarsia_bound_op* bound;
  const tarsia_meta* inputs;
  const tarsia_meta* outputs;
  uint32_t n_inputs, n_outputs;
};

OpObject* op_of(PyObject* object) {
  return reinterpret_cast<OpObject*>(object);
}
BoundObject* bound_of(PyObject* object) {
  return reinterpret_cast<BoundObject*>(object);
}

std::string input_name(const tarsia_op& op, uint32_t i) {
  const std::string name = op.n_inputs ? op.inputs[std::min(i, op.n_inputs - 1)].name : "";
  return "input " + std::to_string(i + 1) + (name.empty() ? "" : " '" + name + "'");
}

bool is_mutable(const tarsia_op& op, uint32_t i) {
  return op.n_inputs && op.inputs[std::min(i, op.n_inputs - 1)].flags & TARSIA_PORT_MUTABLE;
}

/// Reads a tensor for an op; false with an error set.
bool read_tensor(Frame& frame, const tarsia_op& op, const std::string& which, PyObject* object, bool writes,
                 View*& view) {
  view = frame.new_view(object);
  const Why why = view_of(frame, *view);
  if (why == Why::failed || why == Why::unreadable) return false;
  if (why != Why::fits)
    raise_argument_error(
        false, std::string(op.name) + ": " + which + " must be a tensor, got " + describe_argument(object));
  else if (writes && view->read_only)
    raise_argument_error(true, std::string(op.name) + ": " + which + " is written to, but is read-only");
  else if (!view->tensor.data && element_count(view->tensor) != 0)
    raise_argument_error(true, std::string(op.name) + ": " + which + " has no memory behind it");
  return !PyErr_Occurred();
}

bool meta_of(const tarsia_op& op, const tarsia_tensor& tensor, tarsia_meta& meta) {
  if (tensor.ndim > TARSIA_MAX_NDIM) {
    raise_argument_error(true, std::string(op.name) + ": tensors have at most " +
                                   std::to_string(TARSIA_MAX_NDIM) + " dimensions");
    return false;
  }
  meta = {};
  meta.ndim = tensor.ndim;
  meta.dtype = tensor.dtype;
  meta.storage = TARSIA_DENSE;
  meta.present = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) meta.shape[i] = tensor.shape[i];
  return true;
}

tarsia_device device_of(const Frame& frame) {
  return frame.gpu >= 0 ? tarsia_device{TARSIA_GPU, frame.gpu} : tarsia_device{TARSIA_CPU, 0};
}

PyObject* call_bound(PyObject* object, PyObject* const* args, size_t n, PyObject* names);

PyObject* make_bound(tarsia_op_handle* op, tarsia_bound_op* stolen) {
  PyObject* object = PyType_GenericAlloc(g_bound_type, 0);
  if (!object) {
    tarsia_bound_release(stolen);
    return nullptr;
  }
  BoundObject* self = bound_of(object);
  tarsia_op_retain(op);
  self->op = op;
  self->bound = stolen;
  self->vectorcall = call_bound;
  self->inputs = tarsia_bound_inputs(stolen, &self->n_inputs);
  self->outputs = tarsia_bound_outputs(stolen, &self->n_outputs);
  return object;
}

PyObject* bind(PyObject* object, PyObject* const* args, Py_ssize_t n, PyObject* names) {
  const tarsia_op& op = *tarsia_op_describe(op_of(object)->handle);
  Frame frame;
  std::vector<tarsia_meta> metas(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    View* view = nullptr;
    if (args[i] == Py_None) {
      metas[i].ndim = -1;
      continue;
    }
    if (!read_tensor(frame, op, input_name(op, i), args[i], false, view) ||
        !meta_of(op, view->tensor, metas[i]))
      return nullptr;
  }
  Attributes attributes;
  if (!read_attributes(frame, names, args + n, attributes)) return nullptr;
  tarsia_op_request request{};
  request.size = sizeof request;
  request.n_inputs = static_cast<uint32_t>(n);
  request.inputs = metas.data();
  request.n_attributes = static_cast<uint32_t>(attributes.names.size());
  request.attribute_names = attributes.names.data();
  request.attributes = attributes.values.data();
  request.device = device_of(frame);
  tarsia_bound_op* bound = nullptr;
  int32_t code;
  {
    const Call call(frame);
    const Unlocked unlocked(true);
    code = tarsia_op_bind(op_of(object)->handle, &request, &bound);
  }
  return code ? raise_last_error() : make_bound(op_of(object)->handle, bound);
}

/// The outputs of a call: given by the caller, or made by the framework of its tensors.
class Outputs {
 public:
  Outputs(const BoundObject* self, Frame& frame)
      : m_self(self),
        m_frame(frame),
        m_op(*tarsia_op_describe(self->op)),
        m_tensors(frame.room_for<const tarsia_tensor*>(self->n_outputs + 1)),
        m_made(frame.room_for<tarsia_storage*>(self->n_outputs + 1)) {
    for (uint32_t i = 0; i < self->n_outputs; ++i) m_made[i] = nullptr;
  }
  ~Outputs() {
    for (uint32_t i = 0; i < m_self->n_outputs; ++i)
      if (m_made[i]) release(m_made[i]);
  }

  /// Takes `out`: a tensor, or a list or tuple of as many as there are visible outputs.
  bool take(PyObject* out) {
    const bool is_list = PyList_Check(out) || PyTuple_Check(out);
    PyObject* items = is_list ? PySequence_Tuple(out) : PyTuple_Pack(1, out);
    if (!items) return false;
    m_frame.keep(items);
    if (PyTuple_Size(items) != n_visible()) {
      raise_argument_error(false, std::string(m_op.name) + ": out must have " + std::to_string(n_visible()) +
                                      " tensors, got " + std::to_string(PyTuple_Size(items)));
      return false;
    }
    m_given = out;
    Py_ssize_t next = 0;
    for (uint32_t i = 0; i < m_self->n_outputs; ++i) {
      if (is_hidden(i)) continue;
      View* view = nullptr;
      if (!read_tensor(m_frame, m_op, "out", PyTuple_GetItem(items, next++), true, view)) return false;
      m_tensors[i] = &view->tensor;
    }
    return make(true);
  }

  /// Makes the outputs that are not there yet. A Call has to be under way.
  bool make(bool only_hidden) {
    const tarsia_host* host = tarsia_get_host();
    for (uint32_t i = 0; i < m_self->n_outputs; ++i) {
      if (only_hidden && !is_hidden(i)) continue;
      const tarsia_meta& meta = m_self->outputs[i];
      m_made[i] = host->empty(meta.shape, meta.ndim, meta.dtype, device_of(m_frame));
      if (!m_made[i]) {
        raise_last_error();
        return false;
      }
      m_tensors[i] = m_made[i]->tensor;
    }
    return true;
  }

  const tarsia_tensor* const* tensors() const { return m_tensors; }

  /// What the call returns: `out` as it was given, one tensor, a tuple of several, or None.
  PyObject* object() {
    if (m_given) return Ref::borrow(m_given).release();
    Ref tuple(PyTuple_New(n_visible()));
    Py_ssize_t next = 0;
    for (uint32_t i = 0; tuple && i < m_self->n_outputs; ++i) {
      if (is_hidden(i)) continue;
      PyObject* item = tensor_object(m_frame, std::exchange(m_made[i], nullptr));
      if (!item) return nullptr;
      if (n_visible() == 1) return item;
      PyTuple_SetItem(tuple.get(), next++, item);
    }
    return n_visible() ? tuple.release() : Ref::borrow(Py_None).release();
  }

 private:
  bool is_hidden(uint32_t i) const {
    return i < m_op.n_outputs && m_op.outputs[i].flags & TARSIA_PORT_HIDDEN;
  }
  Py_ssize_t n_visible() const {
    Py_ssize_t n = 0;
    for (uint32_t i = 0; i < m_self->n_outputs; ++i) n += !is_hidden(i);
    return n;
  }

  const BoundObject* m_self;
  Frame& m_frame;
  const tarsia_op& m_op;
  const tarsia_tensor** m_tensors;
  tarsia_storage** m_made;
  PyObject* m_given = nullptr;
};

/// The only keyword of a bound op's call.
bool find_out(const tarsia_op& op, PyObject* names, PyObject* const* values, PyObject*& out) {
  const Py_ssize_t n = names ? PyTuple_Size(names) : 0;
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (text_of(PyTuple_GetItem(names, i)) != "out") {
      raise_argument_error(false, std::string(op.name) + ": a bound op takes tensors and out=…, not '" +
                                      text_of(PyTuple_GetItem(names, i)) +
                                      "'; attributes are given when it is bound");
      return false;
    }
    if (values[i] != Py_None) out = values[i];
  }
  return true;
}

PyObject* call_bound_with(BoundObject* self, PyObject* const* args, uint32_t n, PyObject* names) {
  const tarsia_op& op = *tarsia_op_describe(self->op);
  PyObject* out = nullptr;
  if (names && !find_out(op, names, args + n, out)) return nullptr;
  Frame frame;
  auto** inputs = frame.room_for<const tarsia_tensor*>(n + 1);
  for (uint32_t i = 0; i < n; ++i) {
    inputs[i] = nullptr;
    if (args[i] == Py_None) continue;
    View* view = nullptr;
    if (!read_tensor(frame, op, input_name(op, i), args[i], is_mutable(op, i), view)) return nullptr;
    inputs[i] = &view->tensor;
  }
  frame.given = args;
  frame.n_given = n;
  Outputs outputs(self, frame);
  if (out && !outputs.take(out)) return nullptr;
  const Call call(frame);
  if (!out && !outputs.make(false)) return nullptr;
  tarsia_op_call request{};
  request.size = sizeof request;
  request.n_inputs = n;
  request.n_outputs = self->n_outputs;
  request.inputs = inputs;
  request.outputs = outputs.tensors();
  if (tarsia_bound_check(self->bound, &request)) return raise_last_error();
  int32_t code;
  {
    const Unlocked unlocked(true);
    code = tarsia_bound_call(self->bound, &request);
  }
  return code ? raise_last_error() : outputs.object();
}

PyObject* call_bound(PyObject* object, PyObject* const* args, size_t n, PyObject* names) {
  try {
    return call_bound_with(bound_of(object), args, static_cast<uint32_t>(PyVectorcall_NARGS(n)), names);
  } catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
  }
}

/// op(*inputs, out=None, **attributes): binds and calls.
PyObject* call_op(PyObject* object, PyObject* const* args, size_t nargs, PyObject* names) {
  const Py_ssize_t n = PyVectorcall_NARGS(nargs);
  const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
  PyObject* out = nullptr;
  Ref attribute_names(PyList_New(0));
  std::vector<PyObject*> rest(args, args + n);
  for (Py_ssize_t i = 0; attribute_names && i < n_names; ++i) {
    PyObject* name = PyTuple_GetItem(names, i);
    if (text_of(name) == "out") {
      out = args[n + i];
    } else {
      if (PyList_Append(attribute_names.get(), name) != 0) return nullptr;
      rest.push_back(args[n + i]);
    }
  }
  const Ref tuple(attribute_names ? PyList_AsTuple(attribute_names.get()) : nullptr);
  if (!tuple) return nullptr;
  const Ref bound(bind(object, rest.data(), n, PyTuple_Size(tuple.get()) ? tuple.get() : nullptr));
  if (!bound) return nullptr;
  rest.resize(n);
  if (!out) return call_bound(bound.get(), rest.data(), n, nullptr);
  const Ref out_name(Py_BuildValue("(s)", "out"));
  rest.push_back(out);
  return out_name ? call_bound(bound.get(), rest.data(), n, out_name.get()) : nullptr;
}

void dealloc_op(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  tarsia_op_release(op_of(object)->handle);
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

void dealloc_bound(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  if (bound_of(object)->bound) tarsia_bound_release(bound_of(object)->bound);
  if (bound_of(object)->op) tarsia_op_release(bound_of(object)->op);
  PyObject_Free(object);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

std::string ports_text(const tarsia_port* ports, uint32_t n) {
  std::string text;
  for (uint32_t i = 0; i < n; ++i) {
    if (!text.empty()) text += ", ";
    if (ports[i].flags & TARSIA_PORT_VARIADIC) text += "*";
    text += ports[i].name;
    if (ports[i].flags & TARSIA_PORT_OPTIONAL) text += "=None";
  }
  return text;
}

/// "relu(x, *, slope=0) -> (y)".
std::string op_text(const tarsia_op& op) {
  std::string text = std::string(op.name) + "(" + ports_text(op.inputs, op.n_inputs);
  for (uint32_t i = 0; i < op.n_attributes; ++i) {
    const tarsia_attribute& attribute = op.attributes[i];
    text += (i == 0 ? (op.n_inputs ? ", *, " : "*, ") : ", ") + std::string(attribute.name);
    if (attribute.default_text) text += std::string("=") + attribute.default_text;
  }
  return text + ") -> (" + ports_text(op.outputs, op.n_outputs) + ")";
}

PyObject* repr_op(PyObject* object) {
  return PyUnicode_FromFormat("<tarsia.Op %s>", op_text(*tarsia_op_describe(op_of(object)->handle)).c_str());
}

PyObject* repr_bound(PyObject* object) {
  return PyUnicode_FromFormat("<tarsia.BoundOp %s>",
                              op_text(*tarsia_op_describe(bound_of(object)->op)).c_str());
}

PyObject* get_op_name(PyObject* object, void*) {
  return PyUnicode_FromString(tarsia_op_describe(op_of(object)->handle)->name);
}

PyObject* get_op_doc(PyObject* object, void*) {
  const tarsia_op& op = *tarsia_op_describe(op_of(object)->handle);
  std::string text = op_text(op);
  if (op.description && *op.description) text += std::string("\n\n") + op.description;
  if (op.n_attributes) text += "\n";
  for (uint32_t i = 0; i < op.n_attributes; ++i) {
    text += std::string("\n") + op.attributes[i].name;
    if (op.attributes[i].description && *op.attributes[i].description)
      text += std::string(": ") + op.attributes[i].description;
  }
  return PyUnicode_DecodeUTF8(text.data(), text.size(), "replace");
}

/// A tuple of (shape, dtype) of metas.
PyObject* metas_object(const tarsia_meta* metas, uint32_t n) {
  Ref tuple(PyTuple_New(n));
  for (uint32_t i = 0; tuple && i < n; ++i) {
    PyObject* item = nullptr;
    if (metas[i].ndim < 0 && !metas[i].present) {
      item = Ref::borrow(Py_None).release();
    } else {
      PyObject* shape = PyTuple_New(metas[i].ndim < 0 ? 0 : metas[i].ndim);
      for (int32_t k = 0; shape && k < metas[i].ndim; ++k)
        PyTuple_SetItem(shape, k, PyLong_FromLongLong(metas[i].shape[k]));
      item = Py_BuildValue("Ns", shape, dtype_name(metas[i].dtype).c_str());
    }
    if (PyTuple_SetItem(tuple.get(), i, item) != 0) return nullptr;
  }
  return tuple.release();
}

PyObject* get_bound_inputs(PyObject* object, void*) {
  return metas_object(bound_of(object)->inputs, bound_of(object)->n_inputs);
}

PyObject* get_bound_outputs(PyObject* object, void*) {
  return metas_object(bound_of(object)->outputs, bound_of(object)->n_outputs);
}

PyObject* get_bound_name(PyObject* object, void*) {
  return PyUnicode_FromString(tarsia_op_describe(bound_of(object)->op)->name);
}

PyMethodDef g_op_methods[] = {
    {"bind", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(bind)), METH_FASTCALL | METH_KEYWORDS,
     "bind($self, /, *inputs, **attributes)\n--\n\nParses the attributes, infers shapes and dtypes from the "
     "inputs "
     "and chooses the implementation; gives a BoundOp for calls with tensors of these shapes and dtypes."},
    {nullptr, nullptr, 0, nullptr}};
PyGetSetDef g_op_properties[] = {{"name", get_op_name, nullptr, "The name it is registered under.", nullptr},
                                 {"__name__", get_op_name, nullptr, nullptr, nullptr},
                                 {"__doc__", get_op_doc, nullptr, nullptr, nullptr},
                                 {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef g_op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot g_op_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc_op)},
                            {Py_tp_repr, reinterpret_cast<void*>(repr_op)},
                            {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                            {Py_tp_methods, g_op_methods},
                            {Py_tp_getset, g_op_properties},
                            {Py_tp_members, g_op_members},
                            {0, nullptr}};
PyType_Spec g_op_spec = {"tarsia.Op", sizeof(OpObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL,
                         g_op_slots};

PyGetSetDef g_bound_properties[] = {
    {"name", get_bound_name, nullptr, "The op's name.", nullptr},
    {"inputs", get_bound_inputs, nullptr, "(shape, dtype) of each input, None for an absent one.", nullptr},
    {"outputs", get_bound_outputs, nullptr, "(shape, dtype) of each output, hidden ones included.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMemberDef g_bound_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(BoundObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot g_bound_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc_bound)},
    {Py_tp_repr, reinterpret_cast<void*>(repr_bound)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_getset, g_bound_properties},
    {Py_tp_members, g_bound_members},
    {Py_tp_doc,
     const_cast<char*>("An op bound to shapes, dtypes, a device and attributes. Call it with tensors; "
                       "out= takes a tensor, or a tuple of tensors, to write to.")},
    {0, nullptr}};
PyType_Spec g_bound_spec = {
    "tarsia.BoundOp", sizeof(BoundObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_VECTORCALL, g_bound_slots};

bool add_type(PyObject* module, const char* name, PyType_Spec& spec, PyTypeObject*& type) {
  const Ref made(PyType_FromSpec(&spec));
  if (!made || PyObject_SetAttrString(module, name, made.get()) != 0) return false;
  type = reinterpret_cast<PyTypeObject*>(Ref::borrow(made.get()).release());
  return true;
}

}  // namespace

bool add_op_types(PyObject* module) {
  return add_type(module, "Op", g_op_spec, g_op_type) &&
         add_type(module, "BoundOp", g_bound_spec, g_bound_type);
}

PyObject* find_op(const char* name) {
  tarsia_op_handle* handle = nullptr;
  if (tarsia_op_find(name, &handle)) return raise_last_error();
  PyObject* object = PyType_GenericAlloc(g_op_type, 0);
  if (!object) {
    tarsia_op_release(handle);
    return nullptr;
  }
  op_of(object)->handle = handle;
  op_of(object)->vectorcall = call_op;
  return object;
}

}  // namespace tarsia::python
