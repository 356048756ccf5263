// Results: tensors go to the caller's framework.
#include "python/call/result.h"

#include "python/core/errors.h"
#include "python/tensor/numpy_api.h"
#include "python/tensor/stream.h"
#include "python/tensor/tensor.h"
#include "python/tensor/torch_tensor.h"

namespace tarsia::python {
namespace {

void release_capsule(PyObject* capsule) {
  release(static_cast<tarsia_storage*>(PyCapsule_GetPointer(capsule, nullptr)));
}

PyObject* numpy_over(tarsia_storage* stolen) {
  PyObject* capsule = PyCapsule_New(stolen, nullptr, release_capsule);
  if (!capsule) {
    release(stolen);
    return nullptr;
  }
  return numpy::array_over(*stolen->tensor, capsule);
}

/// package.from_dlpack(tensor), where package is that of a tensor's class: CuPy, JAX and the like. The
/// tarsia.Tensor itself (stolen) if it has none.
PyObject* by_from_dlpack(PyObject* like, PyObject* tensor) {
  Ref own(tensor);
  if (!own) return nullptr;
  Ref space(call_method(like, "__array_namespace__", nullptr));
  if (!space) {
    PyErr_Clear();
    const std::string name = type_name(Py_TYPE(like));
    space = loaded_module(name.substr(0, name.find('.')).c_str());
  }
  const Ref from_dlpack = space ? attribute_or_null(space.get(), "from_dlpack") : Ref();
  if (!from_dlpack) return own.release();
  return call_objects(from_dlpack.get(), own.get());
}

PyObject* sequence_of(Frame& frame, const tarsia_type& type, const tarsia_value& value) {
  const bool is_list = value.kind == TARSIA_KIND_LIST;
  Ref sequence(is_list ? PyList_New(value.size) : PyTuple_New(value.size));
  for (uint32_t i = 0; i < value.size; ++i) {
    const tarsia_type& element = type.elements[is_list ? 0 : i];
    PyObject* item = sequence ? object_of(frame, element, value.v[i]) : nullptr;
    if (!item) {
      if (!sequence) drop(value.v[i]);
      sequence = Ref();
      continue;
    }
    if (is_list)
      PyList_SetItem(sequence.get(), i, item);
    else
      PyTuple_SetItem(sequence.get(), i, item);
  }
  return sequence.release();
}

/// The argument into whose view a result points.
PyObject* argument_of(const Frame& frame, const tarsia_tensor* tensor) {
  for (const View* view = frame.last_view; view; view = view->previous)
    if (&view->tensor == tensor) {
      Py_INCREF(view->object);
      return view->object;
    }
  const std::string text =
      std::string(frame.callee_name()) +
      "(): the result is a tensor that ends with the call, in scratch memory or over the "
      "function's own: return one of tarsia::empty, or an argument";
  tarsia_get_host()->set_error(TARSIA_OP_ERROR, text.c_str());
  return raise_last_error();
}

}  // namespace

void drop(const tarsia_value& result) {
  if ((result.kind == TARSIA_KIND_TENSOR || result.kind == TARSIA_KIND_OBJECT) && result.storage)
    release(result.storage);
  if (result.kind == TARSIA_KIND_LIST || result.kind == TARSIA_KIND_TUPLE)
    for (uint32_t i = 0; i < result.size; ++i) drop(result.v[i]);
}

PyObject* tensor_object(Frame& frame, tarsia_storage* stolen) {
  const tarsia_tensor& tensor = *stolen->tensor;
  if (const dlpack::Exchange* exchange = frame.first.exchange) {
    void* object = nullptr;
    exchange->managed_to_object(managed_over(stolen), &object);
    return static_cast<PyObject*>(object);
  }
  const bool is_cpu = tensor.device.type == TARSIA_CPU;
  const ProtocolKind kind = frame.first.kind;
  const bool wants_numpy = kind == ProtocolKind::none || kind == ProtocolKind::numpy ||
                           kind == ProtocolKind::buffer || kind == ProtocolKind::array_interface;
  if (is_cpu && wants_numpy && numpy::can_hold(tensor.dtype)) return numpy_over(stolen);
  PyObject* own = wrap_storage(stolen, is_cpu ? nullptr : stream_of_call(frame));
  return kind == ProtocolKind::dlpack ? by_from_dlpack(frame.first_object, own) : own;
}

PyObject* object_of_rare(Frame& frame, const tarsia_type& type, const tarsia_value& value) {
  switch (value.kind) {
    case TARSIA_KIND_STRING:
      return PyUnicode_DecodeUTF8(value.s, value.size, "surrogateescape");
    case TARSIA_KIND_STRUCT:
      return PyBytes_FromStringAndSize(static_cast<const char*>(value.p), value.size);
    case TARSIA_KIND_TENSOR:
      return tensor_object(frame, value.storage);
    case TARSIA_KIND_OBJECT:
      return torch_object(value.storage);
    case TARSIA_KIND_ARGUMENT:
      return argument_of(frame, value.t);
    case TARSIA_KIND_COMPLEX:
      return PyComplex_FromDoubles(value.v[0].f, value.v[1].f);
    case TARSIA_KIND_LIST:
    case TARSIA_KIND_TUPLE:
      return sequence_of(frame, type, value);
    default:
      PyErr_Format(PyExc_SystemError, "a function gave a result of unknown kind %u", value.kind);
      return nullptr;
  }
}

}  // namespace tarsia::python
