// Reads streams, and finds the current ones.
#include "python/tensor/stream.h"

#include <atomic>
#include <mutex>

#include "python/tensor/view.h"

namespace tarsia::python {
namespace {

/// The attributes in which classes of streams keep their handle, in the order asked.
struct StreamAttribute {
  const char* attribute;
  bool is_protocol;  ///< a method or value of a pair (version, handle); else an int
};
constexpr StreamAttribute k_stream_attributes[] = {
    {"cuda_stream", false}, {"__cuda_stream__", true}, {"ptr", false}};  // PyTorch…CuPy

/// The known classes of streams, with the attribute of each. Asking a class for an attribute that it lacks
/// costs more than a launch.
struct StreamClass {
  PyTypeObject* type;   ///< owned
  PyObject* attribute;  ///< interned
  bool is_protocol;
};
constexpr size_t k_most_classes = 8;
StreamClass g_classes[k_most_classes];
std::atomic<size_t> g_n_classes = 0;  ///< those below it do not change any more
std::mutex g_learning;

const StreamClass* known_class(PyTypeObject* type) {
  const size_t n = g_n_classes.load(std::memory_order_acquire);
  for (size_t i = 0; i < n; ++i)
    if (g_classes[i].type == type) return &g_classes[i];
  return nullptr;
}

void learn_class(PyTypeObject* type, const StreamAttribute& stream) {
  Ref attribute(PyUnicode_InternFromString(stream.attribute));
  if (!attribute) return PyErr_Clear();
  const std::scoped_lock lock(g_learning);
  const size_t n = g_n_classes;
  if (n == k_most_classes || known_class(type)) return;
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  g_classes[n] = {type, attribute.release(), stream.is_protocol};
  g_n_classes.store(n + 1, std::memory_order_release);
}

StreamRead read_int(PyObject* number, void** handle) {
  const Ref index(run_python<PyNumber_Index>(number));
  if (!index) return StreamRead::failed;
  *handle = run_python<PyLong_AsVoidPtr>(index.get());
  return *handle || !PyErr_Occurred() ? StreamRead::ok : StreamRead::failed;
}

StreamRead read_protocol(PyObject* method, void** handle) {
  const Ref pair(PyCallable_Check(method) ? call_objects(method) : nullptr);
  if (!pair && PyErr_Occurred()) return StreamRead::failed;
  const Ref pair_by_attribute(pair ? nullptr : Ref::borrow(method).release());
  PyObject* tuple = pair ? pair.get() : pair_by_attribute.get();
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != 2) return StreamRead::not_a_stream;
  return read_int(PyTuple_GetItem(tuple, 1), handle);
}

/// The attribute of an object that is a stream. For any other object, null with no error set.
Ref handle_of(PyObject* object, bool& is_protocol) {
  PyTypeObject* type = Py_TYPE(object);
  if (const StreamClass* known = known_class(type)) {
    Ref found(run_python<PyObject_GetAttr>(object, known->attribute));
    if (!found) PyErr_Clear();
    is_protocol = known->is_protocol;
    return found;
  }
  if (protocol_of(type).kind != ProtocolKind::none) return {};
  for (const StreamAttribute& stream : k_stream_attributes) {
    Ref found = attribute_or_null(object, stream.attribute);
    if (!found || (!stream.is_protocol && !PyLong_Check(found.get()))) continue;
    learn_class(type, stream);
    is_protocol = stream.is_protocol;
    return found;
  }
  return {};
}

/// CuPy keeps its current stream per thread and has no exchange API.
void* current_cupy_stream() {
  const Ref cupy = loaded_module("cupy.cuda");
  const Ref stream(cupy ? call_method(cupy.get(), "get_current_stream", nullptr) : nullptr);
  void* handle = nullptr;
  if (stream) read_stream(stream.get(), &handle);
  PyErr_Clear();
  return handle;
}

/// Used if no tensor tells whose stream is meant: PyTorch's if it has used CUDA, else CuPy's. This must not
/// initialise CUDA: the caller may still fork.
void* current_stream_of_process() {
  const SavedException saved;
  void* handle = nullptr;
  if (const Ref cuda = loaded_module("torch.cuda")) {
    const Ref used(call_method(cuda.get(), "is_initialized", nullptr));
    if (used.get() == Py_True) {
      const Ref stream(call_method(cuda.get(), "current_stream", nullptr));
      if (stream) read_stream(stream.get(), &handle);
      PyErr_Clear();
      return handle;
    }
    PyErr_Clear();
  }
  return current_cupy_stream();
}

void* current_stream_of(PyObject* tensor, int32_t device) {
  PyTypeObject* type = Py_TYPE(tensor);
  const ExchangeProtocol protocol = protocol_of(type);
  void* handle = nullptr;
  if (protocol.kind == ProtocolKind::exchange) {
    if (protocol.exchange->current_stream(TARSIA_GPU, device, &handle) != 0) PyErr_Clear();
  } else if (protocol.kind != ProtocolKind::tarsia && type_name(type).rfind("cupy.", 0) == 0) {
    handle = current_cupy_stream();
  }
  return handle;
}

}  // namespace

bool is_stream(PyObject* object) {
  bool is_protocol = false;
  return !PyLong_Check(object) && handle_of(object, is_protocol);
}

StreamRead read_stream(PyObject* object, void** handle) {
  if (PyLong_Check(object) && !PyBool_Check(object)) return read_int(object, handle);
  bool is_protocol = false;
  const Ref found = handle_of(object, is_protocol);
  if (!found) return StreamRead::not_a_stream;
  return is_protocol ? read_protocol(found.get(), handle) : read_int(found.get(), handle);
}

void* stream_of_call(Frame& frame) {
  if (frame.has_stream) return frame.stream;
  frame.has_stream = true;
  if (frame.gpu_view) return frame.stream = current_stream_of(frame.gpu_view->object, frame.gpu);
  // __dlpack__ asks for it while arguments are still converted, so it looks ahead.
  for (uint32_t i = 0; i < frame.n_given; ++i)
    if (PyObject* object = frame.given[i]; object && is_stream(object)) {
      read_stream(object, &frame.stream);
      PyErr_Clear();
      return frame.stream;
    }
  for (uint32_t i = 0; i < frame.n_given; ++i) {
    PyObject* object = frame.given[i];
    const ExchangeProtocol protocol = object ? protocol_of(Py_TYPE(object)) : ExchangeProtocol{};
    if (protocol.kind == ProtocolKind::exchange) {
      tarsia_tensor tensor;
      if (protocol.exchange->view_of_object(object, &tensor) != 0)
        PyErr_Clear();
      else if (tensor.device.type == TARSIA_GPU)
        return frame.stream = current_stream_of(object, tensor.device.id);
    } else if (protocol.kind == ProtocolKind::dlpack) {
      return frame.stream = current_stream_of(object, 0);
    }
  }
  return frame.stream = current_stream_of_process();
}

MadeCurrent::MadeCurrent(int32_t device, void* stream) : m_gil(unless_python_ends(PyGILState_Ensure)) {
  const SavedException saved;
  m_cuda = loaded_module("torch.cuda");
  if (!m_cuda || make_current(device, stream)) return;
  PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  const Ref owned_type(type), owned_value(value), owned_traceback(traceback);
  m_error = "PyTorch does not take the stream of the call as its current one: " + short_repr(value);
}

bool MadeCurrent::make_current(int32_t device, void* stream) {
  PyObject* cuda = m_cuda.get();
  Ref previous(call_method(cuda, "current_stream", "i", device));
  if (!previous) return false;
  // 1 is cudaStreamLegacy, the default stream's other name.
  // Work-around: PyTorch takes ExternalStream(0) for a stream of its pool.
  // Trigger: a call's stream is CUDA's default one. Symptom: its tensors belong to another stream.
  // Removal: ExternalStream(0) is the default stream.
  const Ref current(
      reinterpret_cast<uintptr_t>(stream) <= 1
          ? call_method(cuda, "default_stream", "i", device)
          : call_method(cuda, "ExternalStream", "Ki", reinterpret_cast<unsigned long long>(stream), device));
  if (!current || !Ref(call_method(cuda, "set_stream", "O", current.get()))) return false;
  m_previous = std::move(previous);
  return true;
}

MadeCurrent::~MadeCurrent() {
  {
    const SavedException saved;
    if (m_previous && !Ref(call_method(m_cuda.get(), "set_stream", "O", m_previous.get()))) PyErr_Clear();
    m_previous = {};
    m_cuda = {};
  }
  PyGILState_Release(m_gil);
}

}  // namespace tarsia::python
