// Errors of libtarsia as Python exceptions of tarsia._errors.
#pragma once

#include "python/core/py.h"

namespace tarsia::python {

/// Raises this thread's last error of libtarsia. Returns null, so that callers can return it.
PyObject* raise_last_error();

/// Raises tarsia.ArgumentTypeError or tarsia.ArgumentValueError.
PyObject* raise_argument_error(bool is_value_error, const std::string& message, Ref cause = {});

/// Clears the Python error in flight. Returns the first line of its text; "" if there is none. The exception
/// becomes `*cause`.
std::string take_error(Ref* cause = nullptr);

}  // namespace tarsia::python
