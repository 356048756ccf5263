// Arguments other than plain tensors, ints and floats, and the rarer checks of pointers.
#include "python/call/convert.h"

#include <cmath>
#include <cstring>

#include "python/core/driver.h"
#include "python/tensor/stream.h"

namespace tarsia::python {
namespace {

bool is_tensor(PyObject* object) {
  return protocol_of(Py_TYPE(object)).kind != ProtocolKind::none;
}

bool is_numpy_bool(PyObject* object) {
  const std::string name = type_name(Py_TYPE(object));
  return name == "numpy.bool" || name == "numpy.bool_";
}

Why convert_bool(Fit fit, PyObject* object, tarsia_value& value) {
  value.kind = TARSIA_KIND_BOOL;
  value.size = 0;
  value.i = 0;
  if (PyBool_Check(object)) {
    value.i = object == Py_True;
    return Why::fits;
  }
  if (is_numpy_bool(object)) {
    value.i = PyObject_IsTrue(object);
    return Why::fits;
  }
  if (fit == Fit::exact || !PyLong_CheckExact(object)) return Why::type;
  value.i = PyLong_AsLongLong(object);
  PyErr_Clear();
  return value.i == 0 || value.i == 1 ? Why::fits : Why::range;
}

Why convert_int_slow_path(const tarsia_type& type, Fit fit, PyObject* object, tarsia_value& value) {
  if (PyBool_Check(object) && fit == Fit::exact) return Why::type;
  if (PyLong_Check(object)) return convert_int(type, object, value);
  if (!PyIndex_Check(object) || is_tensor(object)) return Why::type;
  const Ref number(PyNumber_Index(object));
  return number ? convert_int(type, number.get(), value) : Why::failed;
}

/// Whether a type of floating-point numbers has this one without rounding.
bool is_exact(tarsia_dtype dtype, double number) {
  const int digits = dtype.bits == 64 ? 53 : dtype.bits == 32 ? 24 : dtype.code == TARSIA_BFLOAT ? 8 : 11;
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(number, &exponent), digits);
  return scaled == std::floor(scaled);
}

/// An integer for a kernel's floating-point parameter: Python's own as long as nothing is lost. One with a
/// type of its own is a mistake more often than not, and C++ would warn of it.
Why convert_int_for_kernel(const tarsia_type& type, PyObject* object, tarsia_value& value) {
  if (!PyLong_Check(object)) return Why::integer;
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
  value.f = static_cast<double>(number);
  value.kind = TARSIA_KIND_FLOAT;
  value.size = 0;
  if (overflow || !float_fits(type.dtype, value.f)) return Why::range;
  constexpr long long k_most_exact = 1LL << 53;
  const bool kept = number >= -k_most_exact && number <= k_most_exact;
  return kept && is_exact(type.dtype, value.f) ? Why::fits : Why::inexact;
}

Why convert_float_slow_path(const Param& param, const tarsia_type& type, Fit fit, PyObject* object,
                            tarsia_value& value) {
  const bool is_float = PyFloat_Check(object);
  if (!is_float) {
    if (fit == Fit::exact && (PyLong_Check(object) || PyIndex_Check(object))) return Why::type;
    if (!PyLong_Check(object) && !PyIndex_Check(object) && !PyType_GetSlot(Py_TYPE(object), Py_nb_float))
      return Why::type;
    if (is_tensor(object)) return Why::type;
    if (param.bytes && (PyLong_Check(object) || PyIndex_Check(object) || is_numpy_bool(object)))
      return convert_int_for_kernel(type, object, value);
  }
  value.f = PyFloat_AsDouble(object);
  value.kind = TARSIA_KIND_FLOAT;
  value.size = 0;
  if (value.f == -1.0 && PyErr_Occurred()) {
    if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return Why::failed;
    PyErr_Clear();
    return Why::range;
  }
  return float_fits(type.dtype, value.f) ? Why::fits : Why::range;
}

Why convert_string(const tarsia_type& type, PyObject* object, tarsia_value& value) {
  Py_ssize_t size = 0;
  const char* text = nullptr;
  if (PyUnicode_Check(object)) {
    text = PyUnicode_AsUTF8AndSize(object, &size);
  } else if (PyBytes_Check(object)) {
    char* bytes = nullptr;
    if (PyBytes_AsStringAndSize(object, &bytes, &size) == 0) text = bytes;
  } else {
    return Why::type;
  }
  if (!text) PyErr_Clear();
  if (!text || size > static_cast<Py_ssize_t>(UINT32_MAX)) return Why::text;
  if ((type.flags & TARSIA_TYPE_NO_NUL) && std::memchr(text, 0, static_cast<size_t>(size))) return Why::nul;
  value.s = text;
  value.kind = TARSIA_KIND_STRING;
  value.size = static_cast<uint32_t>(size);
  return Why::fits;
}

Why convert_tensor(Frame& frame, const Param& param, PyObject* object, tarsia_value& value) {
  View* view = frame.new_view(object);
  Why why = view_of(frame, *view);
  if (why != Why::fits) return why;
  frame.blame.view = view;
  const tarsia_tensor& tensor = view->tensor;
  if (!tensor.data && element_count(tensor) != 0) return Why::no_memory;
  if (view->read_only && !(param.type.flags & TARSIA_TYPE_CONST)) return Why::read_only;
  if (is_changed(*view)) return Why::conjugated;
  if (param.place != Place::together) why = check_place(frame, param.place, *view);
  value.t = &view->tensor;
  value.kind = TARSIA_KIND_TENSOR;
  value.size = 0;
  return why;
}

Why convert_stream(Frame& frame, PyObject* object, tarsia_value& value) {
  void* handle = nullptr;
  switch (read_stream(object, &handle)) {
    case StreamRead::not_a_stream:
      return Why::type;
    case StreamRead::failed:
      return Why::failed;
    case StreamRead::ok:
      break;
  }
  frame.has_stream = true;
  frame.stream = handle;
  value.p = handle;
  value.kind = TARSIA_KIND_STREAM;
  value.size = 0;
  return Why::fits;
}

/// Numbers for a struct of equal ones: float4 of a tuple, complex of a complex.
Why convert_parts(Frame& frame, const Param& param, PyObject* object, char* to) {
  tarsia_type part{};
  part.dtype = param.type.dtype;
  part.kind = part.dtype.code == TARSIA_FLOAT ? TARSIA_KIND_FLOAT : TARSIA_KIND_INT;
  const uint32_t n = part.dtype.lanes, bytes = part.dtype.bits / 8;
  part.dtype.lanes = 1;
  if (static_cast<uint32_t>(PySequence_Size(object)) != n) return Why::size;
  for (uint32_t i = 0; i < n; ++i) {
    const Ref item(PySequence_GetItem(object, i));
    tarsia_value value;
    const Why why = item ? convert_slow_path(frame, param, part, Fit::any, item.get(), value) : Why::failed;
    if (why != Why::fits) return why == Why::failed ? why : Why::type;
    const float narrow = static_cast<float>(value.f);
    const void* from = &value.i;
    if (part.kind == TARSIA_KIND_FLOAT && bytes == sizeof narrow) from = &narrow;
    std::memcpy(to + size_t(i) * bytes, from, bytes);
  }
  return Why::fits;
}

Why convert_complex(const Param& param, PyObject* object, char* to) {
  const double parts[2] = {PyComplex_RealAsDouble(object), PyComplex_ImagAsDouble(object)};
  if (PyErr_Occurred()) return Why::failed;
  const float narrow[2] = {static_cast<float>(parts[0]), static_cast<float>(parts[1])};
  if (param.bytes == sizeof narrow)
    std::memcpy(to, narrow, sizeof narrow);
  else
    std::memcpy(to, parts, sizeof parts);
  return Why::fits;
}

/// A struct by value: its bytes, a NumPy record, a ctypes structure, whatever has a buffer of its size.
Why convert_struct(Frame& frame, const Param& param, PyObject* object, tarsia_value& value) {
  if (param.type.flags & TARSIA_TYPE_REFERENCE) return Why::reference;
  if (param.type.flags & TARSIA_TYPE_NOT_COPYABLE) return Why::not_copyable;
  char* bytes = frame.room_for<char>(param.bytes);
  value.s = bytes;
  value.kind = TARSIA_KIND_STRING;
  value.size = param.bytes;
  const tarsia_dtype dtype = param.type.dtype;
  if (dtype.lanes > 1 && (PyTuple_Check(object) || PyList_Check(object)))
    return convert_parts(frame, param, object, bytes);
  if (dtype.code == TARSIA_COMPLEX &&
      (PyComplex_Check(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object)))
    return convert_complex(param, object, bytes);
  if (PyUnicode_Check(object) || !PyObject_CheckBuffer(object)) return Why::type;
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return Why::type;
  }
  Why why = Why::fits;
  if (buffer.len != static_cast<Py_ssize_t>(param.bytes))
    why = Why::size;
  else if (PyBuffer_ToContiguous(bytes, &buffer, buffer.len, 'C') != 0)
    why = Why::failed;
  PyBuffer_Release(&buffer);
  return why;
}

/// A tuple of a sequence's items that lives as long as the frame; null with no error set if it is no list.
PyObject* items_of(Frame& frame, const tarsia_type& element, PyObject* object) {
  if (PyTuple_Check(object)) return object;
  const bool of_tensors = element.kind == TARSIA_KIND_TENSOR || element.kind == TARSIA_KIND_POINTER;
  const bool is_list = PyList_Check(object);
  if (!is_list) {
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object)) return nullptr;
    const ProtocolKind kind = protocol_of(Py_TYPE(object)).kind;
    if (kind != ProtocolKind::none &&
        (of_tensors || (kind != ProtocolKind::numpy && kind != ProtocolKind::buffer)))
      return nullptr;
    if (!PySequence_Check(object)) return nullptr;
  }
  PyObject* items = PySequence_Tuple(object);
  if (items) frame.keep(items);
  PyErr_Clear();
  return items;
}

Why convert_list(Frame& frame, const Param& param, const tarsia_type& type, Fit fit, PyObject* object,
                 tarsia_value& value) {
  PyObject* items = type.elements ? items_of(frame, *type.elements, object) : nullptr;
  if (!items) return Why::type;
  const Py_ssize_t n = PyTuple_Size(items);
  if (n > static_cast<Py_ssize_t>(UINT32_MAX)) return Why::range;
  Param element = param;
  element.type = *type.elements;
  auto* values = frame.room_for<tarsia_value>(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* item = PyTuple_GetItem(items, i);
    const Why why = convert(frame, element, fit, item, values[i]);
    if (why == Why::fits) continue;
    frame.blame.type = type.elements;
    frame.blame.object = item;
    frame.blame.item = i;
    return why;
  }
  value.v = values;
  value.kind = TARSIA_KIND_LIST;
  value.size = static_cast<uint32_t>(n);
  return Why::fits;
}

/// Whether a tensor of scalars may stand for a pointer to CUDA's vectors of `lanes`: float4* and the like.
Why check_lanes(const tarsia_tensor& tensor, tarsia_dtype wanted) {
  tarsia_dtype scalar = wanted;
  scalar.lanes = 1;
  if (wanted.lanes == 2 && wanted.code == TARSIA_FLOAT && tensor.dtype.code == TARSIA_COMPLEX &&
      tensor.dtype.bits == 2 * wanted.bits && tensor.dtype.lanes == 1)
    return Why::fits;  // cuComplex is a float2
  if (!(tensor.dtype == scalar)) return Why::dtype;
  if (tensor.ndim == 0 || tensor.shape[tensor.ndim - 1] % wanted.lanes != 0) return Why::lanes;
  return Why::fits;
}

bool on_cpu(const tarsia_device& device) {
  return device.type == TARSIA_CPU || device.type == TARSIA_GPU_HOST;
}

}  // namespace

Why convert_address(const Param&, PyObject* object, tarsia_value& value, Why why) {
  if (why == Why::failed || type_name(Py_TYPE(object)) != "ctypes.c_void_p") return why;
  if (why == Why::unreadable) PyErr_Clear();
  const Ref number = attribute_or_null(object, "value");
  value.p = number && number.get() != Py_None ? PyLong_AsVoidPtr(number.get()) : nullptr;
  value.kind = TARSIA_KIND_POINTER;
  value.size = 0;
  return PyErr_Occurred() ? Why::failed : Why::fits;
}

Why check_pointer_slow_path(Frame& frame, const Param& param, const View& view) {
  (void)frame;
  const tarsia_type& type = param.type;
  const tarsia_tensor& tensor = view.tensor;
  if (type.dtype.code != TARSIA_ANY_DTYPE && !(tensor.dtype == type.dtype)) {
    const Why why = type.dtype.lanes > 1 ? check_lanes(tensor, type.dtype) : Why::dtype;
    if (why != Why::fits) return why;
  }
  if (!tensor.data && element_count(tensor) != 0) return Why::no_memory;
  if (tensor.dtype.code == TARSIA_COMPLEX && is_changed_lazily(view.object)) return Why::conjugated;
  return Why::fits;
}

Why check_place(Frame& frame, Place place, const View& view) {
  const tarsia_device device = view.tensor.device;
  if (device.type == TARSIA_GPU_MANAGED) return Why::fits;
  const bool cpu = on_cpu(device);
  if (!cpu && device.type != TARSIA_GPU) return Why::other_device;
  if (place == Place::cpu) return cpu ? Why::fits : Why::wants_cpu;
  // What is pinned is the GPU's as well; PyTorch calls it the CPU's.
  if (place == Place::gpu && cpu)
    return device.type == TARSIA_GPU_HOST || is_pinned(view.tensor.data) ? Why::fits : Why::wants_gpu;
  // Whatever may be anywhere, and all on GPUs, share one device.
  const tarsia_device own{cpu ? int32_t(TARSIA_CPU) : int32_t(TARSIA_GPU), cpu ? 0 : device.id};
  if (!frame.has_pointer_device) {
    frame.has_pointer_device = true;
    frame.device = own;
  }
  if (frame.device.type == own.type && frame.device.id == own.id) return Why::fits;
  frame.blame.other = frame.device;
  return Why::apart;
}

Why convert_slow_path(Frame& frame, const Param& param, const tarsia_type& type, Fit fit, PyObject* object,
                      tarsia_value& value) {
  if (param.bytes && type.kind == TARSIA_KIND_NONE) return convert_struct(frame, param, object, value);
  if (object == Py_None && type.kind != TARSIA_KIND_STREAM) {
    value.p = nullptr;
    value.kind = TARSIA_KIND_NONE;
    value.size = 0;
    return type.flags & TARSIA_TYPE_OPTIONAL || type.kind == TARSIA_KIND_NONE ? Why::fits : Why::none;
  }
  switch (type.kind) {
    case TARSIA_KIND_BOOL:
      return convert_bool(fit, object, value);
    case TARSIA_KIND_INT:
      return convert_int_slow_path(type, fit, object, value);
    case TARSIA_KIND_FLOAT:
      return convert_float_slow_path(param, type, fit, object, value);
    case TARSIA_KIND_STRING:
      return convert_string(type, object, value);
    case TARSIA_KIND_TENSOR:
      return convert_tensor(frame, param, object, value);
    case TARSIA_KIND_STREAM:
      return convert_stream(frame, object, value);
    case TARSIA_KIND_LIST:
      return convert_list(frame, param, type, fit, object, value);
    default:
      return Why::type;
  }
}

}  // namespace tarsia::python
