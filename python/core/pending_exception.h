// The exception that a Python function raised, on its way through libtarsia back to Python.
#pragma once

#include <string>

#include "python/core/py.h"

namespace tarsia::python {

/// Keeps this thread's exception until the error of libtarsia whose message holds `text` is raised.
void keep_exception(const std::string& text, Ref exception);

/// The kept exception loses its traceback, and with it the frames' variables.
void drop_traceback();

/// The kept exception if this message is of it. Returned only once.
Ref take_exception(const char* message);

}  // namespace tarsia::python
