// Words for arguments that do not fit: which parameter, what was given, what to do.
#pragma once

#include "python/call/convert.h"

namespace tarsia::python {

/// How matching the arguments of a call with an overload's parameters may fail beside a single argument.
struct Mismatch {
  Why why = Why::fits;
  uint32_t param = 0;
  enum class Count : uint8_t {
    fits,
    too_many,
    missing,
    twice,
    unknown_keyword,
    gap,
    gap_before_stream
  } count = Count::fits;
  uint32_t n_given = 0;         ///< too_many: positional arguments given
  PyObject* keyword = nullptr;  ///< unknown_keyword: borrowed
  PyObject* object = nullptr;   ///< the argument, borrowed
};

struct Explanation {
  std::string text;
  bool is_value_error = false;  ///< right type, unfit value: shape, device, contiguity, range
  Ref cause;                    ///< an exception of the tensor's owner
};

/// Explains why one overload does not fit. May take the Python error that is set (Why::unreadable).
Explanation explain(const Plan& plan, const Frame& frame, const Mismatch& mismatch);

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
