// Reads streams, and finds the current ones.
#include "stream.h"

#include "plan.h"
#include "view.h"

namespace tarsia::python {
namespace {

/// The attributes in which classes of streams keep their handle, as an int or something like it.
constexpr const char* k_handle_attributes[] = {"cuda_stream", "ptr"};  // PyTorch, CuPy

StreamRead read_int(PyObject* number, void** handle) {
  const Ref index(PyNumber_Index(number));
  if (!index) return StreamRead::failed;
  *handle = PyLong_AsVoidPtr(index.get());
  return *handle || !PyErr_Occurred() ? StreamRead::ok : StreamRead::failed;
}

StreamRead read_protocol(PyObject* method, void** handle) {
  const Ref pair(PyCallable_Check(method) ? PyObject_CallNoArgs(method) : nullptr);
  if (!pair && PyErr_Occurred()) return StreamRead::failed;
  const Ref pair_by_attribute(pair ? nullptr : Ref::borrow(method).release());
  PyObject* tuple = pair ? pair.get() : pair_by_attribute.get();
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != 2) return StreamRead::not_a_stream;
  return read_int(PyTuple_GetItem(tuple, 1), handle);
}

/// CuPy keeps its current stream per thread and has no exchange API.
void* current_cupy_stream() {
  const Ref cupy = loaded_module("cupy.cuda");
  const Ref stream(cupy ? PyObject_CallMethod(cupy.get(), "get_current_stream", nullptr) : nullptr);
  void* handle = nullptr;
  if (stream) read_stream(stream.get(), &handle);
  PyErr_Clear();
  return handle;
}

void* current_stream_of(PyObject* tensor, int32_t device) {
  PyTypeObject* type = Py_TYPE(tensor);
  const Speaker speaker = speaker_of(type);
  void* handle = nullptr;
  if (speaker.speaks == Speaks::exchange) {
    if (speaker.exchange->current_stream(TARSIA_GPU, device, &handle) != 0) PyErr_Clear();
  } else if (speaker.speaks != Speaks::tarsia && type_name(type).rfind("cupy.", 0) == 0) {
    handle = current_cupy_stream();
  }
  return handle;
}

}  // namespace

bool is_stream(PyObject* object) {
  if (PyLong_Check(object) || speaker_of(Py_TYPE(object)).speaks != Speaks::nothing) return false;
  if (attribute_or_null(object, "__cuda_stream__")) return true;
  for (const char* name : k_handle_attributes)
    if (const Ref handle = attribute_or_null(object, name); handle && PyLong_Check(handle.get())) return true;
  return false;
}

StreamRead read_stream(PyObject* object, void** handle) {
  if (PyLong_Check(object) && !PyBool_Check(object)) return read_int(object, handle);
  if (speaker_of(Py_TYPE(object)).speaks != Speaks::nothing) return StreamRead::not_a_stream;
  if (const Ref method = attribute_or_null(object, "__cuda_stream__"))
    return read_protocol(method.get(), handle);
  for (const char* name : k_handle_attributes)
    if (const Ref number = attribute_or_null(object, name); number && PyLong_Check(number.get()))
      return read_int(number.get(), handle);
  return StreamRead::not_a_stream;
}

void* stream_of_call(Frame& frame) {
  if (frame.has_stream) return frame.stream;
  frame.has_stream = true;
  if (frame.gpu_view) return frame.stream = current_stream_of(frame.gpu_view->object, frame.gpu);
  // Asked while arguments are still converted (by __dlpack__): look ahead.
  for (uint32_t i = 0; i < frame.n_given; ++i)
    if (PyObject* object = frame.given[i]; object && is_stream(object)) {
      read_stream(object, &frame.stream);
      PyErr_Clear();
      return frame.stream;
    }
  for (uint32_t i = 0; i < frame.n_given; ++i) {
    PyObject* object = frame.given[i];
    const Speaker speaker = object ? speaker_of(Py_TYPE(object)) : Speaker{};
    if (speaker.speaks == Speaks::exchange) {
      tarsia_tensor tensor;
      if (speaker.exchange->view_of_object(object, &tensor) != 0)
        PyErr_Clear();
      else if (tensor.device.type == TARSIA_GPU)
        return frame.stream = current_stream_of(object, tensor.device.id);
    } else if (speaker.speaks == Speaks::dlpack) {
      return frame.stream = current_stream_of(object, 0);
    }
  }
  return nullptr;
}

}  // namespace tarsia::python
