// Errors of libtarsia as Python exceptions of tarsia._errors.
#pragma once

#include <algorithm>

#include "python/core/py.h"

namespace tarsia::python {

/// Raises this thread's last error of libtarsia. Returns null, so that callers can return it.
PyObject* raise_last_error();

/// Raises tarsia.ArgumentTypeError or tarsia.ArgumentValueError.
PyObject* raise_argument_error(bool is_value_error, const std::string& message, Ref cause = {});

/// Raises a tarsia.ArgumentTypeError: programs do not call the type, and `made` says what gives its objects.
PyObject* refuse_call(PyTypeObject* type, const char* made);

/// A text as an argument of a template.
template <size_t n>
struct Text {
  consteval Text(const char (&text)[n]) { std::copy_n(text, n, characters); }
  char characters[n];
};

/// The Py_tp_new of such a type.
template <Text made>
PyObject* refuse_new(PyTypeObject* type, PyObject*, PyObject*) {
  return refuse_call(type, made.characters);
}

/// Clears the Python error in flight. Returns the first line of its text; "" if there is none. The exception
/// becomes `*cause`.
std::string take_error(Ref* cause = nullptr);

}  // namespace tarsia::python
