// Sorts keywords into inputs and the rest.
#include "python/op/named_inputs.h"

#include <optional>
#include <string>

namespace tarsia::python {

namespace {

/// The number of the input of this name; calls have another use for two names.
std::optional<uint32_t> input_named(const tarsia_op& op, PyObject* name) {
  for (const char* taken : {"out", "req"})
    if (PyUnicode_CompareWithASCIIString(name, taken) == 0) return {};
  for (uint32_t i = 0; i < op.n_inputs; ++i)
    if (*op.inputs[i].name && PyUnicode_CompareWithASCIIString(name, op.inputs[i].name) == 0) return i;
  return {};
}

}  // namespace

bool NamedInputs::put(const tarsia_op& op, uint32_t i, PyObject* value) {
  const bool is_any_number = op.inputs[i].flags & TARSIA_PORT_VARIADIC;
  if (i < m_is_given.size() && (m_is_given[i] || is_any_number)) {
    raise_argument_error(false, std::string(op.name) + ": input '" + op.inputs[i].name +
                                    "' is given twice, by its place and by its name");
    return false;
  }
  if (is_any_number && (PyList_Check(value) || PyTuple_Check(value))) {
    m_items = Ref(run_python<PySequence_Tuple>(value));
    if (!m_items) return false;
    m_row.resize(i, Py_None);
    for (Py_ssize_t k = 0; k < PyTuple_Size(m_items.get()); ++k)
      m_row.push_back(PyTuple_GetItem(m_items.get(), k));
    m_is_given.resize(m_row.size(), true);
    return true;
  }
  if (i >= m_row.size()) {
    m_row.resize(i + 1, Py_None);
    m_is_given.resize(i + 1, false);
  }
  m_row[i] = value;
  m_is_given[i] = true;
  return true;
}

bool NamedInputs::take(const tarsia_op& op, PyObject* const* args, uint32_t n, PyObject* names) {
  const Py_ssize_t n_names = names ? PyTuple_Size(names) : 0;
  struct Named {
    uint32_t input;
    PyObject* value;
  };
  std::vector<Named> named;
  std::vector<PyObject*> rest, rest_names;
  for (Py_ssize_t k = 0; k < n_names; ++k) {
    PyObject* name = PyTuple_GetItem(names, k);
    if (const auto i = input_named(op, name)) {
      named.push_back({*i, args[n + k]});
    } else {
      rest.push_back(args[n + k]);
      rest_names.push_back(name);
    }
  }
  if (named.empty()) return false;
  m_row.assign(args, args + n);
  m_is_given.assign(n, true);
  // The one of any number comes last, so it finds all others in their places.
  for (const bool is_any_number : {false, true})
    for (const Named& one : named)
      if (((op.inputs[one.input].flags & TARSIA_PORT_VARIADIC) != 0) == is_any_number &&
          !put(op, one.input, one.value))
        return false;
  m_n = static_cast<uint32_t>(m_row.size());
  m_row.insert(m_row.end(), rest.begin(), rest.end());
  if (rest.empty()) return true;
  m_names = Ref(PyTuple_New(static_cast<Py_ssize_t>(rest_names.size())));
  for (size_t k = 0; m_names && k < rest_names.size(); ++k)
    PyTuple_SetItem(m_names.get(), static_cast<Py_ssize_t>(k), Ref::borrow(rest_names[k]).release());
  return static_cast<bool>(m_names);
}

}  // namespace tarsia::python
