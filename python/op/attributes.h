// Attributes of ops: turns Python values into the typed values that an op's binding takes.
#pragma once

#include <vector>

#include <tarsia/op_abi.h>

#include "python/tensor/frame.h"

namespace tarsia::python {

struct Attributes {
  std::vector<const char*> names;
  std::vector<tarsia_value> values;
};

/// Converts keyword arguments: None, bool, int, float, str, and lists and tuples of these. Any other value,
/// and any undeclared attribute, goes by its str(). False with an error set on failure. Texts live as long
/// as the frame and the arguments.
bool read_attributes(Frame& frame, const tarsia_op& op, PyObject* names, PyObject* const* values,
                     Attributes& attributes);

}  // namespace tarsia::python
