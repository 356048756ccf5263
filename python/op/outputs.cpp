// Takes the outputs that a caller passed, makes the others, and reads write requests.
#include "python/op/outputs.h"

#include <tarsia/detail/names.h>

#include <algorithm>
#include <iterator>

#include "python/call/call.h"
#include "python/call/result.h"
#include "python/core/errors.h"
#include "python/op/sparse.h"
#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace {

using tarsia::detail::k_request_names;

/// The request of that name; -1 with an error set if there is none.
int request_named(const tarsia_op& op, PyObject* object) {
  const std::string text = PyUnicode_Check(object) ? text_of(object) : "";
  for (size_t i = 0; i < std::size(k_request_names); ++i)
    if (text == k_request_names[i]) return static_cast<int>(i);
  raise_argument_error(true, std::string(op.name) +
                                 ": req is 'null', 'write', 'inplace' or 'add', or a list of "
                                 "these, not " +
                                 short_repr(object));
  return -1;
}

}  // namespace

const tarsia_port* port_of(const tarsia_op& op, uint32_t i) {
  if (i < op.n_inputs) return &op.inputs[i];
  const tarsia_port* last = op.n_inputs ? &op.inputs[op.n_inputs - 1] : nullptr;
  return last && last->flags & TARSIA_PORT_VARIADIC ? last : nullptr;
}

const tarsia_tensor* read_tensor(Frame& frame, const tarsia_op& op, PyObject* object, bool writes,
                                 TensorName name, uint32_t i) {
  View* view = frame.new_view(object, writes);
  const Why why = view_of(frame, *view);
  const auto refuse = [&](bool is_value_error, const std::string& words, Ref cause = {}) {
    raise_argument_error(is_value_error, std::string(op.name) + ": " + name(op, i) + words, std::move(cause));
    return nullptr;
  };
  if (why != Why::fits) {
    const bool raised = PyErr_Occurred() != nullptr;
    {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);
      const tarsia_tensor* sparse = read_sparse(frame, object);
      if (sparse || PyErr_Occurred()) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        if (sparse && writes) return refuse(false, " is written to, and sparse tensors cannot be");
        return sparse;
      }
      PyErr_Restore(type, value, traceback);
    }
    if (why == Why::deleted || why == Why::mixed) {
      PyErr_Clear();
      return refuse(why == Why::deleted, " " + explain_state(why, frame, object, "x"));
    }
    if (why == Why::unreadable) {
      Ref cause;
      const std::string words = explain_unreadable(object, "x", cause);
      return refuse(true, " " + words, std::move(cause));
    }
    if (raised) return nullptr;
    if (why == Why::masked || why == Why::element_type)
      return refuse(false, " " + explain_elements(why, "x", object));
    return refuse(false, " must be a tensor of numbers, such as a NumPy array, got " +
                             describe_argument(object) + advice_for(object));
  }
  if (is_changed(*view))
    return refuse(true,
                  " is conjugated or negated lazily, so its memory holds other values; pass "
                  "x.resolve_conj().resolve_neg()");
  if (writes && view->read_only) return refuse(true, " is written to, but is read-only; pass a copy");
  if (!view->tensor.data && element_count(view->tensor) != 0)
    return refuse(true, " has no memory behind it (a meta or fake tensor)");
  return &view->tensor;
}

bool Pass::is_hidden(uint32_t i) const {
  return !shows_hidden && pass == TARSIA_FORWARD && bound->outputs[i].flags & TARSIA_PORT_HIDDEN;
}

bool Pass::is_wanted(uint32_t i) const {
  if (pass == TARSIA_FORWARD) return !is_hidden(i);
  return tarsia_bound_has_gradient(bound->bound, i) != 0;
}

Outputs::Outputs(Pass pass, Frame& frame)
    : m_pass(pass),
      m_frame(frame),
      m_n(pass.n()),
      m_tensors(frame.room_for<const tarsia_tensor*>(m_n)),
      m_made(frame.room_for<tarsia_storage*>(m_n)),
      m_sparse(frame.room_for<tarsia_sparse*>(m_n)),
      m_requests(frame.room_for<uint8_t>(m_n)),
      m_items(frame.room_for<PyObject*>(m_n)) {
  for (uint32_t i = 0; i < m_n; ++i) {
    m_tensors[i] = nullptr;
    m_made[i] = nullptr;
    m_sparse[i] = nullptr;
    m_items[i] = nullptr;
    m_requests[i] = pass.is_wanted(i) ? TARSIA_REQUEST_WRITE : TARSIA_REQUEST_NULL;
    m_n_visible += !pass.is_hidden(i);
  }
}

Outputs::~Outputs() {
  for (uint32_t i = 0; i < m_n; ++i) {
    if (m_made[i]) release(m_made[i]);
    for (int k = 0; m_sparse[i] && k < 3; ++k)
      if (m_sparse[i]->made[k]) release(m_sparse[i]->made[k]);
  }
}

bool Outputs::take(const OutputArguments& output_arguments) {
  if (output_arguments.out && !take_out(output_arguments.out)) return false;
  return !output_arguments.req || take_requests(output_arguments.req);
}

bool Outputs::take_out(PyObject* out) {
  const bool is_list = PyList_Check(out) || PyTuple_Check(out);
  PyObject* items = is_list ? run_python<PySequence_Tuple>(out) : PyTuple_Pack(1, out);
  if (!items) return false;
  m_frame.keep(items);
  const tarsia_op& op = *m_pass.bound->description;
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
    if (item == Py_None) continue;
    m_items[i] = item;
    if (m_pass.meta(i).storage != TARSIA_DENSE) {
      if (!take_sparse(i, item)) return false;
      continue;
    }
    m_tensors[i] = read_tensor(
        m_frame, op, item, true, [](const tarsia_op&, uint32_t) { return std::string("out"); }, i);
    if (!m_tensors[i]) return false;
  }
  return true;
}

bool Outputs::take_sparse(uint32_t i, PyObject* item) {
  const tarsia_tensor* given = read_sparse(m_frame, item);
  if (!given && PyErr_Occurred()) return false;
  if (!given || storage_of(m_frame, given) != m_pass.meta(i).storage) {
    raise_argument_error(false, std::string(m_pass.bound->description->name) + ": out has to be a " +
                                    (m_pass.meta(i).storage == TARSIA_CSR ? "CSR" : "row-sparse") +
                                    " tensor, as the op makes them, not " + describe_argument(item));
    return false;
  }
  m_sparse[i] = m_frame.room_for<tarsia_sparse>(1);
  *m_sparse[i] = *reinterpret_cast<const tarsia_sparse*>(given);
  return true;
}

bool Outputs::take_requests(PyObject* req) {
  const tarsia_op& op = *m_pass.bound->description;
  const bool is_list = PyList_Check(req) || PyTuple_Check(req);
  PyObject* items = is_list ? run_python<PySequence_Tuple>(req) : PyTuple_Pack(1, req);
  if (!items) return false;
  m_frame.keep(items);
  if (is_list && PyTuple_Size(items) != m_n_visible) {
    raise_argument_error(false, std::string(op.name) + ": req is for " + std::to_string(m_n_visible) +
                                    " outputs, got " + std::to_string(PyTuple_Size(items)));
    return false;
  }
  Py_ssize_t next = 0;
  for (uint32_t i = 0; i < m_n; ++i) {
    if (m_pass.is_hidden(i)) continue;
    const int request = request_named(op, PyTuple_GetItem(items, is_list ? next : 0));
    ++next;
    if (request < 0) return false;
    if (!m_pass.is_wanted(i)) continue;
    if ((request == TARSIA_REQUEST_ADD || request == TARSIA_REQUEST_INPLACE) && !m_items[i]) {
      raise_argument_error(true, std::string(op.name) + ": req='" +
                                     k_request_names[static_cast<size_t>(request)] +
                                     "' needs the tensor to write to: out=…");
      return false;
    }
    m_requests[i] = static_cast<uint8_t>(request);
  }
  return true;
}

bool Outputs::make() {
  const tarsia_host* host = tarsia_get_host();
  for (uint32_t i = 0; i < m_n; ++i) {
    if (m_tensors[i] || m_requests[i] == TARSIA_REQUEST_NULL) continue;
    const tarsia_meta& meta = m_pass.meta(i);
    if (meta.storage != TARSIA_DENSE) [[unlikely]] {
      if (!m_sparse[i]) {
        m_sparse[i] = m_frame.room_for<tarsia_sparse>(1);
        *m_sparse[i] = {};
        tarsia_tensor& whole = m_sparse[i]->whole;
        whole.device = m_pass.bound->device;
        whole.ndim = meta.ndim;
        whole.dtype = meta.dtype;
        whole.shape = const_cast<int64_t*>(meta.shape);
      } else if (m_requests[i] != TARSIA_REQUEST_ADD) {  // the old content goes
        const tarsia_tensor whole = m_sparse[i]->whole;
        *m_sparse[i] = {};
        m_sparse[i]->whole = whole;
      }
      m_tensors[i] = &m_sparse[i]->whole;
      continue;
    }
    m_made[i] = host->empty(meta.shape, meta.ndim, meta.dtype, m_pass.bound->device);
    if (!m_made[i]) {
      raise_last_error();
      return false;
    }
    m_tensors[i] = m_made[i]->tensor;
  }
  return true;
}

void Outputs::put_into(tarsia_op_call& call) const {
  call.n_outputs = m_n;
  call.outputs = m_tensors;
  call.requests = m_requests;
  call.pass = m_pass.pass;
}

PyObject* Outputs::object() {
  for (uint32_t i = 0; i < m_n; ++i)
    if (m_sparse[i] && m_items[i] && m_requests[i] != TARSIA_REQUEST_NULL &&
        !store_sparse(m_frame, *m_sparse[i], m_pass.meta(i).storage, m_items[i]))
      return nullptr;
  bool complete = m_given != nullptr;  // the caller gave all outputs
  for (uint32_t i = 0; i < m_n; ++i) complete &= !m_made[i] && (!m_sparse[i] || m_items[i]);
  if (complete || m_n_visible == 0) return Ref::borrow(complete && m_given ? m_given : Py_None).release();
  const bool is_tuple = m_n_visible > 1 || m_pass.pass == TARSIA_BACKWARD;
  Ref tuple(is_tuple ? PyTuple_New(m_n_visible) : nullptr);
  Py_ssize_t next = 0;
  for (uint32_t i = 0; i < m_n; ++i) {
    if (m_pass.is_hidden(i)) continue;
    tarsia_storage* made = std::exchange(m_made[i], nullptr);
    PyObject* item = m_sparse[i] && !m_items[i] ? sparse_object(m_frame, *m_sparse[i], m_pass.meta(i).storage)
                     : made                     ? tensor_object(m_frame, made)
                                                : Ref::borrow(m_items[i] ? m_items[i] : Py_None).release();
    if (!item || !is_tuple) return item;
    PyTuple_SetItem(tuple.get(), next++, item);
  }
  return tuple.release();
}

}  // namespace tarsia::python
