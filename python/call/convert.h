// Converts one Python argument to the value that an adapter takes.
#pragma once

#include "python/call/plan.h"
#include "python/tensor/view.h"

namespace tarsia::python {

/// How strictly an argument has to fit: `exact` takes no int for a float, nor a bool for an int. The first of
/// several overloads that fits exactly wins, else the first that fits at all.
enum class Fit : uint8_t { exact, any };

/// The rarer types; blame is set when it does not fit.
Why convert_slow_path(Frame& frame, const Param& param, const tarsia_type& type, Fit fit, PyObject* object,
                      tarsia_value& value);
/// A pointer's argument that is no fitting tensor may be a ctypes.c_void_p for a kernel; else `why` stands.
Why convert_address(const Param& param, PyObject* object, tarsia_value& value, Why why);
Why check_pointer_slow_path(Frame& frame, const Param& param, const View& view);
Why check_place(Frame& frame, Place place, const View& view);

/// Checks a view against a pointer parameter.
inline Why check_pointer(Frame& frame, const Param& param, const tarsia_type& type, const View& view) {
  const tarsia_tensor& tensor = view.tensor;
  if (bits_of(tensor.dtype) != bits_of(type.dtype) || tensor.dtype.code == TARSIA_COMPLEX || !tensor.data)
      [[unlikely]] {
    const Why why = check_pointer_slow_path(frame, param, view);
    if (why != Why::fits) return why;
  }
  if (view.read_only && !(type.flags & TARSIA_TYPE_CONST)) [[unlikely]]
    return Why::read_only;
  if (!is_contiguous(tensor)) [[unlikely]]
    return Why::layout;
  if (may_be_imaginary(tensor) && is_changed_lazily(view.object)) [[unlikely]]
    return Why::conjugated;
  const auto address = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  // Bits of elements and lanes are powers of two but for lanes of three, which are aligned like one.
  const unsigned alignment =
      type.dtype.lanes == 3 ? type.dtype.bits / 8 : type.dtype.bits / 8 * type.dtype.lanes;
  if (alignment && (address & (alignment - 1))) [[unlikely]]
    return Why::alignment;
  if (tensor.device.type == TARSIA_CPU && param.place == Place::cpu) [[likely]]
    return Why::fits;
  return check_place(frame, param.place, view);
}

inline Why convert_pointer(Frame& frame, const Param& param, const tarsia_type& type, PyObject* object,
                           tarsia_value& value) {
  View* view = frame.new_view(object);
  Why why = view_of(frame, *view);
  if (why == Why::fits) [[likely]] {
    why = check_pointer(frame, param, type, *view);
    value.p = static_cast<char*>(view->tensor.data) + view->tensor.byte_offset;
    value.kind = TARSIA_KIND_POINTER;
    value.size = 0;
    if (why == Why::fits) [[likely]]
      return why;
    frame.blame.view = view;
  }
  return param.bytes ? convert_address(param, object, value, why) : why;
}

/// An int within the parameter's range.
inline Why convert_int(const tarsia_type& type, PyObject* object, tarsia_value& value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  value.i = number;
  value.kind = TARSIA_KIND_INT;
  value.size = 0;
  const unsigned bits = type.dtype.bits;
  if (type.dtype.code == TARSIA_UINT) {
    if (bits >= 64) {
      if (overflow <= 0 && number >= 0 && !overflow) return Why::fits;
      if (overflow <= 0) return Why::range;
      value.u = PyLong_AsUnsignedLongLong(object);
      if (value.u != static_cast<uint64_t>(-1) || !PyErr_Occurred()) return Why::fits;
      PyErr_Clear();
      return Why::range;
    }
    return !overflow && number >= 0 && number >> bits == 0 ? Why::fits : Why::range;
  }
  if (overflow) return Why::range;
  if (bits >= 64) return Why::fits;
  const long long limit = 1LL << (bits - 1);
  return number >= -limit && number < limit ? Why::fits : Why::range;
}

/// Whether a finite double fits the float type of so many bits.
inline bool float_fits(tarsia_dtype dtype, double number) {
  if (dtype.bits == 64) return true;
  constexpr double k_float32_most = 3.4028235677973366e38;  // what still rounds to FLT_MAX
  const double magnitude = number < 0 ? -number : number;
  const double most = dtype.bits == 16 && dtype.code == TARSIA_FLOAT ? 65520.0 : k_float32_most;
  return !(magnitude >= most) || magnitude - magnitude != 0;
}

/// Converts an argument. On another result than Why::fits, frame.blame says more.
inline Why convert(Frame& frame, const Param& param, Fit fit, PyObject* object, tarsia_value& value) {
  const tarsia_type& type = param.type;
  if (type.kind == TARSIA_KIND_POINTER) {
    if (object != Py_None) [[likely]]
      return convert_pointer(frame, param, type, object, value);
  } else if (type.kind == TARSIA_KIND_INT) {
    if (PyLong_CheckExact(object)) [[likely]]
      return convert_int(type, object, value);
  } else if (type.kind == TARSIA_KIND_FLOAT) {
    if (PyFloat_CheckExact(object)) [[likely]] {
      value.f = PyFloat_AsDouble(object);
      value.kind = TARSIA_KIND_FLOAT;
      value.size = 0;
      return float_fits(type.dtype, value.f) ? Why::fits : Why::range;
    }
  }
  return convert_slow_path(frame, param, type, fit, object, value);
}

}  // namespace tarsia::python
