// Keeps and compares the keywords and bindings of the last direct calls of an op.
#include "python/op/last_call.h"

#include <cstring>

namespace tarsia::python {

namespace {

bool is_unchangeable(PyObject* object) {
  return object == Py_None || PyUnicode_CheckExact(object) || PyLong_CheckExact(object) ||
         PyFloat_CheckExact(object) || PyBool_Check(object);
}

bool is_same(PyObject* a, PyObject* b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b) || !is_unchangeable(a)) return false;
  if (!PyFloat_CheckExact(a)) return run_python<PyObject_RichCompareBool>(a, b, Py_EQ) == 1;
  const double x = run_python<PyFloat_AsDouble>(a), y = run_python<PyFloat_AsDouble>(b);
  return std::memcmp(&x, &y, sizeof x) == 0;
}

}  // namespace

bool KeptKeywords::keep(PyObject* names, PyObject* const* values) {
  const size_t n = names ? static_cast<size_t>(PyTuple_Size(names)) : 0;
  for (size_t i = 0; i < n; ++i)
    if (!is_unchangeable(values[i])) return false;
  for (size_t i = 0; i < n; ++i) m_values.push_back(Ref::borrow(values[i]));
  m_names = Ref::borrow(names);
  return true;
}

bool KeptKeywords::are(PyObject* names, PyObject* const* values) const {
  if (!names != !m_names) return false;
  if (names != m_names.get() && run_python<PyObject_RichCompareBool>(names, m_names.get(), Py_EQ) != 1)
    return false;
  for (size_t i = 0; i < m_values.size(); ++i)
    if (!is_same(values[i], m_values[i].get())) return false;
  return true;
}

}  // namespace tarsia::python
