// Python values as attributes.
#include "python/op/attributes.h"

#include <cstring>

namespace tarsia::python {
namespace {

bool read_text(PyObject* string, tarsia_value& value) {
  Py_ssize_t size = 0;
  value.s = PyUnicode_AsUTF8AndSize(string, &size);
  value.kind = TARSIA_KIND_STRING;
  value.size = static_cast<uint32_t>(size);
  return value.s != nullptr;
}

bool read_str(Frame& frame, PyObject* object, tarsia_value& value) {
  PyObject* text = run_python<PyObject_Str>(object);
  if (!text) return false;
  frame.keep(text);
  return read_text(text, value);
}

bool read_value(Frame& frame, PyObject* object, tarsia_value& value);

bool read_list(Frame& frame, PyObject* object, tarsia_value& value) {
  PyObject* items = run_python<PySequence_Tuple>(object);
  if (!items) return false;
  frame.keep(items);
  const Py_ssize_t n = PyTuple_Size(items);
  value.v = frame.room_for<tarsia_value>(n);
  value.kind = TARSIA_KIND_LIST;
  value.size = static_cast<uint32_t>(n);
  for (Py_ssize_t i = 0; i < n; ++i)
    if (!read_value(frame, PyTuple_GetItem(items, i), value.v[i])) return false;
  return true;
}

bool read_value(Frame& frame, PyObject* object, tarsia_value& value) {
  value.p = nullptr;
  value.size = 0;
  if (object == Py_None) {
    value.kind = TARSIA_KIND_NONE;
    return true;
  }
  if (PyBool_Check(object)) {
    value.kind = TARSIA_KIND_BOOL;
    value.i = object == Py_True;
    return true;
  }
  if (PyLong_Check(object)) {
    value.kind = TARSIA_KIND_INT;
    int overflow = 0;
    value.i = run_python<PyLong_AsLongLongAndOverflow>(object, &overflow);
    value.size = TARSIA_SIGNED;
    if (!overflow) return true;
    value.u = run_python<PyLong_AsUnsignedLongLong>(object);
    value.size = TARSIA_UNSIGNED;
    if (!PyErr_Occurred()) return true;
    PyErr_Clear();
    return read_str(frame, object, value);  // the op says that it does not fit
  }
  if (PyFloat_Check(object)) {
    value.kind = TARSIA_KIND_FLOAT;
    value.f = run_python<PyFloat_AsDouble>(object);
    return true;
  }
  if (PyUnicode_Check(object)) return read_text(object, value);
  if (PyList_Check(object) || PyTuple_Check(object)) return read_list(frame, object, value);
  return read_str(frame, object, value);
}

bool is_declared(const tarsia_op& op, const char* name) {
  for (uint32_t i = 0; i < op.n_attributes; ++i)
    if (std::strcmp(op.attributes[i].name, name) == 0) return true;
  return false;
}

}  // namespace

bool read_attributes(Frame& frame, const tarsia_op& op, PyObject* names, PyObject* const* values,
                     Attributes& attributes) {
  const Py_ssize_t n = names ? PyTuple_Size(names) : 0;
  attributes.names.resize(n);
  attributes.values.resize(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    attributes.names[i] = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), nullptr);
    if (!attributes.names[i]) return false;
    const bool by_text = (op.flags & TARSIA_OP_ANY_ATTRIBUTES) && !is_declared(op, attributes.names[i]);
    if (!(by_text ? read_str : read_value)(frame, values[i], attributes.values[i])) return false;
  }
  return true;
}

}  // namespace tarsia::python
