// Arguments other than plain tensors, ints and floats, and the rarer checks of pointers.
#include "convert.h"

#include <cstring>

#include "stream.h"

namespace tarsia::python {
namespace {

bool is_tensor(PyObject* object) {
  return speaker_of(Py_TYPE(object)).speaks != Speaks::nothing;
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

Why convert_int_rarely(const tarsia_type& type, Fit fit, PyObject* object, tarsia_value& value) {
  if (PyBool_Check(object) && fit == Fit::exact) return Why::type;
  if (PyLong_Check(object)) return convert_int(type, object, value);
  if (!PyIndex_Check(object) || is_tensor(object)) return Why::type;
  const Ref number(PyNumber_Index(object));
  return number ? convert_int(type, number.get(), value) : Why::failed;
}

Why convert_float_rarely(const tarsia_type& type, Fit fit, PyObject* object, tarsia_value& value) {
  const bool is_float = PyFloat_Check(object);
  if (!is_float) {
    if (fit == Fit::exact && (PyLong_Check(object) || PyIndex_Check(object))) return Why::type;
    if (!PyLong_Check(object) && !PyIndex_Check(object) && !PyType_GetSlot(Py_TYPE(object), Py_nb_float))
      return Why::type;
    if (is_tensor(object)) return Why::type;
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
  if ((tensor.dtype.code == TARSIA_COMPLEX || !is_contiguous(tensor)) && is_changed_lazily(object))
    return Why::conjugated;
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

/// A tuple of a sequence's items that lives as long as the frame; null with no error set if it is no list.
PyObject* items_of(Frame& frame, const tarsia_type& element, PyObject* object) {
  if (PyTuple_Check(object)) return object;
  const bool of_tensors = element.kind == TARSIA_KIND_TENSOR || element.kind == TARSIA_KIND_POINTER;
  const bool is_list = PyList_Check(object);
  if (!is_list) {
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object)) return nullptr;
    const Speaks speaks = speaker_of(Py_TYPE(object)).speaks;
    if (speaks != Speaks::nothing && (of_tensors || (speaks != Speaks::numpy && speaks != Speaks::buffer)))
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

Why check_pointer_rarely(Frame& frame, const Param& param, const View& view) {
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
  if (place == Place::gpu && cpu) return Why::wants_gpu;
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

Why convert_rarely(Frame& frame, const Param& param, const tarsia_type& type, Fit fit, PyObject* object,
                   tarsia_value& value) {
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
      return convert_int_rarely(type, fit, object, value);
    case TARSIA_KIND_FLOAT:
      return convert_float_rarely(type, fit, object, value);
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
