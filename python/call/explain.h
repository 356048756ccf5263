// What Python's users read about arguments that do not fit, in the words of <tarsia/detail/argument_words.h>.
#pragma once

#include <tarsia/detail/argument_words.h>

#include "python/call/convert.h"

namespace tarsia::python {

using Mismatch = arguments::Mismatch<PythonFace>;
using arguments::Explanation;

/// Explains why one overload does not fit. May take the Python error that is set (Why::unreadable), which
/// becomes `cause`.
Explanation explain(const Plan& plan, const Frame& frame, const Mismatch& mismatch, Ref& cause);

/// "float ns::f(const float *x, int n) at relu.cu:12".
std::string describe(const Plan& plan);

/// What is wrong with an argument whose elements are not read, Why::masked or Why::element_type, and what to
/// pass in place of `name`: "is a …; pass …".
std::string explain_elements(Why why, const std::string& name, PyObject* object);

/// What is wrong with a tensor that is Why::unreadable, and what to pass in place of `name`: "is a …". Takes
/// the Python error that is set, which becomes `cause`.
std::string explain_unreadable(PyObject* object, const std::string& name, Ref& cause);

/// What is wrong with a tensor that is Why::deleted or Why::mixed, and what to pass in place of `name`: "is a
/// …".
std::string explain_state(Why why, const Frame& frame, PyObject* object, const std::string& name);

/// "; …" where something that is no tensor stands for one; else nothing.
std::string advice_for(PyObject* object);

/// What an argument is: "numpy.ndarray of float64, shape (3, 4), on the CPU".
std::string describe_argument(PyObject* object);

}  // namespace tarsia::python
