// tarsia.BoundOp: an op with attributes parsed, shapes inferred and implementation chosen.
#pragma once

#include <tarsia/c_graph.h>

#include "python/op/outputs.h"
#include "python/tensor/frame.h"

namespace tarsia::python {

/// Makes the type and puts it into the module.
bool add_bound_type(PyObject* module);

/// A BoundOp over a reference that it takes over, even on failure; bound for `device` by a tarsia_choice.
PyObject* make_bound(tarsia_op_handle* op, tarsia_bound_op* stolen, tarsia_device device, uint32_t choice);

/// Reads "measure", "priority" or None. False with an error set, which names `who`, for anything else.
bool read_choice(const char* who, PyObject* object, uint32_t& choice);

/// What runs a pass of a bound op.
tarsia_bound_pass describe_pass(const tarsia_bound_op* bound, tarsia_pass pass);

/// Warns, once in a process, if calls of a pass convert sparse tensors. False with an error set if a filter
/// makes an error of it.
bool warn_of_conversions(const tarsia_op& op, const tarsia_bound_op* bound, tarsia_pass pass);

/// The handle of a BoundOp, borrowed; null with an error set if the object is none.
tarsia_bound_op* bound_of(PyObject* object);

/// Captures the graph that a BoundOp runs, bound anew. Null with an error set on failure.
tarsia_captured_graph* capture_bound(PyObject* object);

/// Reads the inputs of an op's call, null for None. False with an error set on failure.
bool read_inputs(Frame& frame, const tarsia_op& op, PyObject* const* args, uint32_t n,
                 const tarsia_tensor** inputs);

/// The device that the inputs read so far call for.
tarsia_device device_of(const Frame& frame);

/// Whether a BoundOp was bound with inputs of these shapes and dtypes, on this device.
bool is_bound_for(PyObject* bound, const Frame& frame, const tarsia_tensor* const* inputs, uint32_t n);

/// Runs a BoundOp on inputs that were read.
PyObject* run_bound(PyObject* bound, Frame& frame, const tarsia_tensor* const* inputs, uint32_t n,
                    const OutputArguments& output_arguments);

/// bound.backward(*args): output gradients, inputs, outputs.
PyObject* run_backward(PyObject* bound, PyObject* const* args, Py_ssize_t n,
                       const OutputArguments& output_arguments);

}  // namespace tarsia::python
