// Python.h, an owning reference, and the few helpers that every file here needs. Limited API from 3.12 on.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cxxabi.h>
#include <structmember.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

namespace tarsia::python {

/// Does what may wait for the GIL.
///
/// Work-around: CPython ends threads by pthread_exit.
/// Trigger: another thread asks for the GIL once the interpreter ends, in Python before 3.14. Symptom: the
/// thread's stack is unwound without the GIL, and the process ends with an error if a frame there is noexcept
/// or catches all. So the thread stays here, until the process ends. Removal: Python 3.14 is the oldest that
/// is supported.
template <typename Action>
decltype(auto) unless_python_ends(Action&& action) {
  try {
    return std::forward<Action>(action)();
  } catch (abi::__forced_unwind&) {
    for (;;) ::pause();
  }
}

// These run code of Python's, which gives the GIL away and asks for it again: methods of a user's class, such
// as its __repr__, among it.
/// Calls a function of Python's C interface.
template <auto function, typename... Arguments>
decltype(auto) run_python(Arguments... arguments) {
  return unless_python_ends([&] { return function(arguments...); });
}
template <typename... Arguments>
PyObject* call_method(PyObject* object, const char* name, const char* format, Arguments... arguments) {
  return unless_python_ends([&] { return PyObject_CallMethod(object, name, format, arguments...); });
}
inline PyObject* call_object(PyObject* callable, PyObject* arguments, PyObject* keywords = nullptr) {
  return unless_python_ends([&] { return PyObject_Call(callable, arguments, keywords); });
}
template <typename... Arguments>
PyObject* call_objects(PyObject* callable, Arguments... arguments) {
  return unless_python_ends(
      [&] { return PyObject_CallFunctionObjArgs(callable, arguments..., static_cast<PyObject*>(nullptr)); });
}
inline PyObject* import_module(const char* name) {
  return unless_python_ends([&] { return PyImport_ImportModule(name); });
}

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
  ~Ref() {
    unless_python_ends([this] { Py_XDECREF(m_object); });  // may run its __del__
  }

  PyObject* get() const { return m_object; }
  PyObject* release() { return std::exchange(m_object, nullptr); }
  explicit operator bool() const { return m_object != nullptr; }

 private:
  PyObject* m_object = nullptr;
};

/// The exception in flight, set aside so that Python code can run meanwhile.
class SavedException {
 public:
  SavedException() { PyErr_Fetch(&m_type, &m_value, &m_traceback); }
  ~SavedException() { PyErr_Restore(m_type, m_value, m_traceback); }
  SavedException(const SavedException&) = delete;
  SavedException& operator=(const SavedException&) = delete;

 private:
  PyObject *m_type, *m_value, *m_traceback;
};

/// Holds the GIL, on whatever thread.
class Locked {
 public:
  Locked() : m_state(unless_python_ends(PyGILState_Ensure)) {}
  ~Locked() { PyGILState_Release(m_state); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE m_state;
};

/// Releases the GIL while it lives, if asked to.
class Unlocked {
 public:
  explicit Unlocked(bool release = true) : m_thread(release ? PyEval_SaveThread() : nullptr) {}
  ~Unlocked() {
    if (m_thread) unless_python_ends([&] { PyEval_RestoreThread(m_thread); });
  }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

 private:
  PyThreadState* m_thread;
};

/// In a Python without the GIL: keeps other threads out of what an object holds. As the GIL does, it lets
/// them in while its thread waits or runs Python code. With the GIL it is nothing.
class Exclusive {
 public:
#ifdef Py_GIL_DISABLED
  explicit Exclusive(PyObject* object) { PyCriticalSection_Begin(&m_section, object); }
  ~Exclusive() { PyCriticalSection_End(&m_section); }
#else
  explicit Exclusive(PyObject*) {}
  ~Exclusive() {}
#endif
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

#ifdef Py_GIL_DISABLED
 private:
  PyCriticalSection m_section;
#endif
};

/// The item of a list; null with an error set if it has become shorter. Other threads may change the list.
inline Ref item_of_list(PyObject* list, Py_ssize_t i) {
#ifdef Py_GIL_DISABLED
  return Ref(PyList_GetItemRef(list, i));
#else
  return Ref::borrow(PyList_GetItem(list, i));
#endif
}

/// What a dict has for the key, or empty. Sets no error. Other threads may change the dict.
inline Ref entry_of(PyObject* dict, const char* key) {
#ifdef Py_GIL_DISABLED
  PyObject* found = nullptr;
  if (PyDict_GetItemStringRef(dict, key, &found) < 0) PyErr_Clear();
  return Ref(found);
#else
  return Ref::borrow(PyDict_GetItemString(dict, key));
#endif
}

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

/// A str. Bytes that are not UTF-8 are replaced.
inline PyObject* string(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

/// A tuple of make(i) for i below n. Null with an error set if one result is null.
template <class Make>
PyObject* tuple_of(uint64_t n, Make make) {
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(n)));
  for (uint64_t i = 0; tuple && i < n; ++i) {
    PyObject* item = make(i);
    if (!item) return nullptr;
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i), item);
  }
  return tuple.release();
}

/// Makes a type and puts it into the module. False with an error set on failure.
bool add_type(PyObject* module, PyType_Spec& spec, const char* name, PyTypeObject*& type);

/// A function of any of Python's signatures, as PyMethodDef takes it.
template <class F>
PyCFunction as_method(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

/// "torch.Tensor", "int": how an error names a type.
std::string type_name(PyTypeObject* type);

/// repr(object), shortened to what fits into a message.
std::string short_repr(PyObject* object);

/// The attribute, or null with no error set if it does not exist or raised.
inline Ref attribute_or_null(PyObject* object, const char* name) {
  Ref found(run_python<PyObject_GetAttrString>(object, name));
  if (!found) PyErr_Clear();
  return found;
}

/// A module of sys.modules, or null: never imports.
Ref loaded_module(const char* name);

}  // namespace tarsia::python
