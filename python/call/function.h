// tarsia.Function: an exported C++ function with its overloads, called by vectorcall.
#pragma once

#include <tarsia/c_api.h>

#include <vector>

#include "python/tensor/frame.h"

namespace tarsia::python {

/// Makes the type and puts it into the module.
bool add_function_type(PyObject* module);

/// A callable over overloads, in the order in which calls try them. Keeps the library.
PyObject* make_function(tarsia_library* library, const tarsia_function* const* overloads, size_t n);

/// The parts that a tarsia.Function was made of, borrowed. No library for any other object.
struct FunctionParts {
  tarsia_library* library = nullptr;
  std::vector<const tarsia_function*> overloads;
};
FunctionParts parts_of(PyObject* function);

/// Calls the first overload with values that fit it. The arguments' views lie in the frame.
PyObject* call_function(PyObject* function, Frame& frame, const tarsia_value* values, uint32_t n);

/// Whether an object is a tarsia.Function.
bool is_function(PyObject* object);

}  // namespace tarsia::python
