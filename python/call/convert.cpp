// Reads Python's objects for the rules of arguments: numbers, texts, lists, structs, streams.
#include "python/call/convert.h"

#include <cstring>

#include "python/call/record_format.h"
#include "python/tensor/stream.h"
#include "python/tensor/torch_tensor.h"

namespace tarsia::python {
namespace {

using arguments::Integer;
using arguments::Numeric;

bool is_tensor(PyObject* object) {
  return protocol_of(Py_TYPE(object)).kind != ProtocolKind::none;
}

bool is_numpy_bool(PyObject* object) {
  const std::string name = type_name(Py_TYPE(object));
  return name == "numpy.bool" || name == "numpy.bool_";
}

/// numpy.complex64 and the like, which convert to floats with a warning.
bool is_numpy_complex(PyObject* object) {
  const std::string name = type_name(Py_TYPE(object));
  return name.starts_with("numpy.complex") || name.starts_with("numpy.clongdouble");
}

/// Numbers for a struct of equal ones: float4 of a tuple.
Why read_parts(Frame& frame, const arguments::Param& param, PyObject* object, char* to) {
  tarsia_type part{};
  part.dtype = param.type.dtype;
  part.kind = part.dtype.code == TARSIA_FLOAT ? TARSIA_KIND_FLOAT : TARSIA_KIND_INT;
  const uint32_t n = part.dtype.lanes, bytes = part.dtype.bits / 8;
  part.dtype.lanes = 1;
  if (static_cast<uint32_t>(run_python<PySequence_Size>(object)) != n) return Why::size;
  for (uint32_t i = 0; i < n; ++i) {
    const Ref item(run_python<PySequence_GetItem>(object, i));
    tarsia_value value;
    const Why why = item ? convert(frame, param, part, Fit::any, item.get(), value) : Why::failed;
    if (why != Why::fits) return why == Why::failed ? why : Why::type;
    const float narrow = static_cast<float>(value.f);
    const void* from = &value.i;
    if (part.kind == TARSIA_KIND_FLOAT && bytes == sizeof narrow) from = &narrow;
    std::memcpy(to + size_t(i) * bytes, from, bytes);
  }
  return Why::fits;
}

Why read_complex_struct(const arguments::Param& param, PyObject* object, char* to) {
  const double parts[2] = {run_python<PyComplex_RealAsDouble>(object),
                           run_python<PyComplex_ImagAsDouble>(object)};
  if (PyErr_Occurred()) return Why::failed;
  const float narrow[2] = {static_cast<float>(parts[0]), static_cast<float>(parts[1])};
  if (param.bytes == sizeof narrow)
    std::memcpy(to, narrow, sizeof narrow);
  else
    std::memcpy(to, parts, sizeof parts);
  return Why::fits;
}

/// A tuple of a sequence's items that lives as long as the frame. Null with no error set if the object is
/// no list.
PyObject* items_of(Frame& frame, const tarsia_type& element, PyObject* object) {
  if (PyTuple_Check(object)) return object;
  const bool of_tensors = element.kind == TARSIA_KIND_TENSOR || element.kind == TARSIA_KIND_POINTER ||
                          element.kind == TARSIA_KIND_OBJECT;
  const bool is_list = PyList_Check(object);
  if (!is_list) {
    if (PyUnicode_Check(object) || PyBytes_Check(object) || PyDict_Check(object)) return nullptr;
    const ProtocolKind kind = protocol_of(Py_TYPE(object)).kind;
    if (kind != ProtocolKind::none &&
        (of_tensors || (kind != ProtocolKind::numpy && kind != ProtocolKind::buffer)))
      return nullptr;
    if (!PySequence_Check(object)) return nullptr;
  }
  PyObject* items = run_python<PySequence_Tuple>(object);
  if (items) frame.keep(items);
  PyErr_Clear();
  return items;
}

}  // namespace

bool PythonFace::is_stream(PyObject* object) const {
  return python::is_stream(object);
}

Numeric PythonFace::numeric(PyObject* object) const {
  if (PyBool_Check(object)) return Numeric::boolean;
  if (PyLong_Check(object)) return Numeric::integer;
  if (PyFloat_Check(object)) return Numeric::real;
  const bool is_index = PyIndex_Check(object);
  if ((!is_index && !PyType_GetSlot(Py_TYPE(object), Py_nb_float)) || is_tensor(object) ||
      is_numpy_complex(object))
    return Numeric::no;
  if (is_numpy_bool(object)) return Numeric::typed_boolean;
  return is_index ? Numeric::typed_integer : Numeric::real;
}

Why PythonFace::read_integer(const tarsia_type&, PyObject* object, Integer& number) const {
  Ref made;
  if (is_numpy_bool(object)) {
    number = {Integer::in_int64, run_python<PyObject_IsTrue>(object)};
    return Why::fits;
  }
  if (!PyLong_Check(object)) {
    made = Ref(run_python<PyNumber_Index>(object));
    if (!made) return Why::failed;
    object = made.get();
  }
  int overflow = 0;
  number = {Integer::in_int64, run_python<PyLong_AsLongLongAndOverflow>(object, &overflow)};
  if (overflow < 0) number.size = Integer::below;
  if (overflow <= 0) return Why::fits;
  const unsigned long long large = run_python<PyLong_AsUnsignedLongLong>(object);
  number = {PyErr_Occurred() ? Integer::above : Integer::in_uint64, static_cast<int64_t>(large)};
  PyErr_Clear();
  return Why::fits;
}

Why PythonFace::read_float(PyObject* object, double& number) const {
  number = run_python<PyFloat_AsDouble>(object);
  if (number != -1.0 || !PyErr_Occurred()) return Why::fits;
  if (!PyErr_ExceptionMatches(PyExc_OverflowError)) return Why::failed;
  PyErr_Clear();
  return Why::range;
}

/// A complex of Python's, or an object that converts to one: numpy.complex64.
Why PythonFace::read_complex(PyObject* object, double (&parts)[2]) const {
  Ref made;
  if (!PyComplex_Check(object)) {
    if (is_tensor(object)) return Why::type;
    made = attribute_or_null(object, "__complex__");
    if (!made) return Why::type;
    made = Ref(call_objects(made.get()));
    if (!made) return Why::failed;
    if (!PyComplex_Check(made.get())) return Why::type;
    object = made.get();
  }
  parts[0] = run_python<PyComplex_RealAsDouble>(object);
  parts[1] = run_python<PyComplex_ImagAsDouble>(object);
  return Why::fits;
}

Why PythonFace::read_text(PyObject* object, const char*& text, uint64_t& size) const {
  Py_ssize_t n = 0;
  if (PyUnicode_Check(object)) {
    text = PyUnicode_AsUTF8AndSize(object, &n);
  } else if (PyBytes_Check(object)) {
    char* bytes = nullptr;
    if (PyBytes_AsStringAndSize(object, &bytes, &n) == 0) text = bytes;
  } else {
    return Why::type;
  }
  size = static_cast<uint64_t>(n);
  if (text) return Why::fits;
  PyErr_Clear();
  return Why::text;
}

Why PythonFace::read_stream(PyObject* object, void*& stream) {
  switch (python::read_stream(object, &stream)) {
    case StreamRead::not_a_stream:
      return Why::type;
    case StreamRead::failed:
      return Why::failed;
    case StreamRead::ok:
      break;
  }
  m_frame.has_stream = true;
  m_frame.stream = stream;
  return Why::fits;
}

Why PythonFace::read_list(const tarsia_type& element, PyObject* object, List& list) {
  list.items = items_of(m_frame, element, object);
  if (!list.items) return Why::type;
  list.n = static_cast<uint64_t>(PyTuple_Size(list.items));
  return Why::fits;
}

Why PythonFace::read_object(const tarsia_type& type, PyObject* object, void*& handle) const {
  handle = type.dtype.code == TARSIA_TORCH_TENSOR ? torch_handle(object) : nullptr;
  if (handle) return Why::fits;
  return PyErr_Occurred() ? Why::failed : Why::type;
}

/// The struct's bytes: a NumPy record, a ctypes structure, or any object with a buffer of its size.
Why PythonFace::read_struct(const arguments::Param& param, PyObject* object, tarsia_value& value) {
  char* bytes = m_frame.room_for<char>(param.bytes);
  value.s = bytes;
  value.kind = TARSIA_KIND_STRING;
  value.size = param.bytes;
  const tarsia_dtype dtype = param.type.dtype;
  if (dtype.lanes > 1 && (PyTuple_Check(object) || PyList_Check(object)))
    return read_parts(m_frame, param, object, bytes);
  if (dtype.code == TARSIA_COMPLEX &&
      (PyComplex_Check(object) || PyFloat_CheckExact(object) || PyLong_CheckExact(object)))
    return read_complex_struct(param, object, bytes);
  if (PyUnicode_Check(object) || !PyObject_CheckBuffer(object)) return Why::type;
  Py_buffer buffer;
  if (run_python<PyObject_GetBuffer>(object, &buffer, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return Why::type;
  }
  Why why = Why::fits;
  if (buffer.len != static_cast<Py_ssize_t>(param.bytes))
    why = Why::size;
  else if (PyBuffer_ToContiguous(bytes, &buffer, buffer.len, 'C') != 0)
    why = Why::failed;
  run_python<PyBuffer_Release>(&buffer);
  return why;
}

/// The memory of plain structs where it is: of a NumPy array, a ctypes structure, or any contiguous buffer,
/// which is held for the call. A copy of the bytes if they have gaps and are only read.
Why PythonFace::read_bytes(const tarsia_type& type, PyObject* object, tarsia_value& value) {
  const bool writes = !(type.flags & TARSIA_TYPE_CONST);
  if (PyUnicode_Check(object) || !PyObject_CheckBuffer(object)) return Why::type;
  auto* buffer = m_frame.room_for<Py_buffer>(1);
  if (run_python<PyObject_GetBuffer>(object, buffer, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();
    return Why::type;
  }
  m_frame.on_end([](void* held) { run_python<PyBuffer_Release>(static_cast<Py_buffer*>(held)); }, buffer);
  if (buffer->len > UINT32_MAX) return Why::size;
  value.p = buffer->buf;
  value.size = static_cast<uint32_t>(buffer->len);
  value.kind = TARSIA_KIND_STRUCT;
  // Elements of another size are another struct, or numbers: a row of bytes says nothing.
  const auto item = static_cast<uint32_t>(buffer->itemsize);
  if (item != 1 && item != type.n_elements) return Why::size;
  if (item != 1 && type.elements && !fits_fields(buffer->format, type.n_elements, type.elements))
    return Why::fields;
  if (writes && buffer->readonly) return Why::read_only;
  if (PyBuffer_IsContiguous(buffer, 'C')) return Why::fits;
  if (writes) return Why::layout;
  value.p = m_frame.room_for<char>(value.size);
  return PyBuffer_ToContiguous(value.p, buffer, buffer->len, 'C') == 0 ? Why::fits : Why::failed;
}

Why PythonFace::read_c_void_p(PyObject* object, tarsia_value& value, Why why) {
  if (why == Why::failed || type_name(Py_TYPE(object)) != "ctypes.c_void_p") return why;
  if (why == Why::unreadable) PyErr_Clear();
  const Ref number = attribute_or_null(object, "value");
  value.p = number && number.get() != Py_None ? run_python<PyLong_AsVoidPtr>(number.get()) : nullptr;
  value.kind = TARSIA_KIND_POINTER;
  value.size = 0;
  return PyErr_Occurred() ? Why::failed : Why::fits;
}

void* PythonFace::current_stream() {
  return stream_of_call(m_frame);
}

Why convert_by_rules(Frame& frame, const arguments::Param& param, const tarsia_type& type, Fit fit,
                     PyObject* object, tarsia_value& value) {
  PythonFace face(frame);
  return arguments::convert(face, param, type, fit, object, value);
}

}  // namespace tarsia::python
