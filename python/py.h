// Python.h, an owning reference, and the few helpers that every file here needs. Limited API from 3.12 on.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tarsia::python {

/// An owned reference; may be null.
class Ref {
 public:
  Ref() = default;
  /// Takes over a new reference, as most functions of Python give it.
  explicit Ref(PyObject* owned) : m_object(owned) {}
  static Ref borrow(PyObject* object) {
    Py_XINCREF(object);
    return Ref(object);
  }
  Ref(Ref&& other) noexcept : m_object(std::exchange(other.m_object, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    Ref old(std::exchange(m_object, std::exchange(other.m_object, nullptr)));
    return *this;
  }
  ~Ref() { Py_XDECREF(m_object); }

  PyObject* get() const { return m_object; }
  PyObject* release() { return std::exchange(m_object, nullptr); }
  explicit operator bool() const { return m_object != nullptr; }

 private:
  PyObject* m_object = nullptr;
};

/// The exception in flight, put aside so that Python code can run in between.
class SavedException {
 public:
  SavedException() { PyErr_Fetch(&m_type, &m_value, &m_traceback); }
  ~SavedException() { PyErr_Restore(m_type, m_value, m_traceback); }
  SavedException(const SavedException&) = delete;
  SavedException& operator=(const SavedException&) = delete;

 private:
  PyObject *m_type, *m_value, *m_traceback;
};

/// A string's UTF-8 text; empty and no error set if it has none.
inline std::string text_of(PyObject* string) {
  Py_ssize_t size = 0;
  const char* data = string ? PyUnicode_AsUTF8AndSize(string, &size) : nullptr;
  if (!data) {
    PyErr_Clear();
    return {};
  }
  return std::string(data, size);
}

/// "torch.Tensor", "int": how an error names a type.
std::string type_name(PyTypeObject* type);

/// repr(object), shortened to what fits into a message.
std::string short_repr(PyObject* object);

/// The attribute, or null with no error set if there is none or it raised.
inline Ref attribute_or_null(PyObject* object, const char* name) {
  Ref found(PyObject_GetAttrString(object, name));
  if (!found) PyErr_Clear();
  return found;
}

/// A module of sys.modules, or null: never imports.
Ref loaded_module(const char* name);

}  // namespace tarsia::python
