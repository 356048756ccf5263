// Reads a Python tensor as a tarsia_tensor without copying it.
#pragma once

#include "python/core/driver.h"
#include "python/core/dtype.h"
#include "python/tensor/frame.h"
#include "python/tensor/numpy_api.h"

namespace tarsia::python {

using arguments::element_count;
using arguments::is_contiguous;
using arguments::Why;

/// The rarer ways; fills `view`.
Why view_slow_path(Frame& frame, ExchangeProtocol protocol, View& view);
/// The array interface that an object has itself, its class having none; null: none, and no error is set.
const char* own_interface(PyObject* object);
/// Strides in elements from strides in bytes, into the frame's room.
Why set_byte_strides(Frame& frame, tarsia_tensor& tensor, const int64_t* byte_strides);

/// Reads a NumPy array; shape stays NumPy's own.
inline Why view_of_numpy(Frame& frame, View& view) {
  const auto* array = reinterpret_cast<const numpy::Array*>(view.object);
  tarsia_tensor& tensor = view.tensor;
  tensor.data = array->data;
  tensor.device = {TARSIA_CPU, 0};
  tensor.ndim = array->ndim;
  tensor.dtype = numpy::dtype_of(array->descr);
  tensor.shape = array->shape;
  tensor.strides = nullptr;
  tensor.byte_offset = 0;
  view.read_only = !(array->flags & numpy::k_writeable);
  if (tensor.dtype.lanes == 0) [[unlikely]]
    return Why::element_type;
  if (array->flags & numpy::k_contiguous) [[likely]]
    return Why::fits;
  return set_byte_strides(frame, tensor, array->strides);
}

/// Whether a tensor may stand beside those before it, which are of another family or of none.
bool goes_with(Frame& frame, const ExchangeProtocol& protocol, PyObject* object);

/// Reads a tensor of any framework into `view`, whose object is set. Why::type if the object is none.
inline Why view_of(Frame& frame, View& view) {
  const ExchangeProtocol protocol = protocol_of(Py_TYPE(view.object));
  if (protocol.kind != ProtocolKind::none && !frame.first_object) {
    frame.first = protocol;
    frame.first_object = view.object;
    frame.family = protocol.family;
    frame.family_object = view.object;
  } else if (protocol.family != frame.family && !goes_with(frame, protocol, view.object)) [[unlikely]] {
    return Why::mixed;
  }
  Why why = Why::fits;
  if (protocol.kind == ProtocolKind::exchange) {
    if (protocol.exchange->view_of_object(view.object, &view.tensor) != 0) [[unlikely]]
      return Why::unreadable;
  } else if (protocol.kind == ProtocolKind::numpy) {
    why = view_of_numpy(frame, view);
  } else {
    why = view_slow_path(frame, protocol, view);
  }
  if (why == Why::fits && view.tensor.device.type == TARSIA_GPU && frame.gpu < 0) {
    frame.gpu = view.tensor.device.id;
    frame.gpu_view = &view;
  }
  return why;
}

/// The name of a tensor's dtype as a str; None if it is no tensor or its elements have no dtype.
PyObject* dtype_of_tensor(PyObject* object);

/// Whether a complex tensor is conjugated lazily, or any negated so: its memory is not what it says. Only
/// tensors with an exchange API are asked, which are PyTorch's: others have nothing of the kind, or say so
/// when they are read.
///
/// Work-around: PyTorch's exchange API gives the memory of lazily changed tensors as it is.
/// Trigger: x.conj(), or x.conj().imag. Symptom: a function reads the conjugate of each number, or its
/// negative. Removal: the exchange API refuses such tensors.
bool is_changed_lazily(PyObject* tensor);

/// Whether a contiguous tensor may be the imaginary part of a number, which PyTorch negates lazily: a single
/// float in the second half of a pair.
inline bool may_be_imaginary(const tarsia_tensor& tensor) {
  const auto address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  const auto bytes = static_cast<uintptr_t>(tensor.dtype.bits / 8);
  return (address & bytes) && tensor.dtype.code == TARSIA_FLOAT && element_count(tensor) == 1;
}

// What the rules for arguments ask of a view; see <tarsia/detail/argument_rules.h>.
inline bool may_be_changed_lazily(const View& view) {
  return may_be_imaginary(view.tensor);
}
inline bool is_changed_lazily(const View& view) {
  return is_changed_lazily(view.object);
}
inline bool is_pinned(const View& view) {
  return is_pinned(view.tensor.data);
}

/// Whether a tensor's memory is not what it says, asked only where it can be.
inline bool is_changed(const View& view) {
  const tarsia_tensor& tensor = view.tensor;
  return (tensor.dtype.code == TARSIA_COMPLEX || !is_contiguous(tensor) || may_be_imaginary(tensor)) &&
         is_changed_lazily(view.object);
}

}  // namespace tarsia::python
