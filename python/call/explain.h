// Explanations, for Python's users, of arguments that do not fit, in the words of
// <tarsia/detail/argument_words.h>.
#pragma once

#include <tarsia/detail/argument_words.h>

#include "python/call/convert.h"

namespace tarsia::python {

using Mismatch = arguments::Mismatch<PythonFace>;
using arguments::Explanation;

/// Explains why one overload does not fit. May take the current Python error (for Why::unreadable), which
/// becomes `cause`.
Explanation explain(const Plan& plan, const Frame& frame, const Mismatch& mismatch, Ref& cause);

/// "float ns::f(const float *x, int n) at relu.cu:12".
std::string describe(const Plan& plan);

/// The fault of an argument whose elements are not read, Why::masked or Why::element_type, and the remedy
/// in place of `name`: "is a …; pass …".
std::string explain_elements(Why why, const std::string& name, PyObject* object);

/// The fault of a tensor that is Why::unreadable, and the remedy in place of `name`: "is a …". Takes the
/// current Python error, which becomes `cause`.
std::string explain_unreadable(PyObject* object, const std::string& name, Ref& cause);

/// The fault of a tensor that is Why::deleted or Why::mixed, and the remedy in place of `name`: "is a …".
std::string explain_state(Why why, const Frame& frame, PyObject* object, const std::string& name);

/// "; …" if an object that is no tensor is passed as one; else empty.
std::string advice_for(PyObject* object);

/// The description of an argument: "numpy.ndarray of float64, shape (3, 4), on the CPU".
std::string describe_argument(PyObject* object);

}  // namespace tarsia::python
