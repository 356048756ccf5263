// Reads tensors by __dlpack__, the array interfaces and the buffer protocol, and tarsia.Tensor.
#include "python/tensor/view.h"

#include "python/core/driver.h"
#include "python/tensor/stream.h"
#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace {

constexpr const char* k_cuda_interface = "__cuda_array_interface__";
constexpr const char* k_array_interface = "__array_interface__";

/// The capsule from an object's __dlpack__, ordered before work on the call's stream.
Ref dlpack_capsule(Frame& frame, PyObject* object, int32_t device_type) {
  const Ref method(run_python<PyObject_GetAttrString>(object, "__dlpack__"));
  const Ref no_arguments(PyTuple_New(0));
  const Ref options(Py_BuildValue("{s:(II)}", "max_version", dlpack::k_major, dlpack::k_minor));
  if (!method || !no_arguments || !options) return {};
  if (device_type == TARSIA_GPU || device_type == TARSIA_GPU_MANAGED) {
    const auto handle = reinterpret_cast<intptr_t>(stream_of_call(frame));
    constexpr long long k_legacy_default = 1;  // DLPack's number for CUDA's null stream
    const Ref stream(PyLong_FromLongLong(handle ? handle : k_legacy_default));
    if (!stream || PyDict_SetItemString(options.get(), "stream", stream.get()) != 0) return {};
  }
  Ref capsule(call_object(method.get(), no_arguments.get(), options.get()));
  if (capsule || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
  PyErr_Clear();  // an exporter older than DLPack 1.0 does not know max_version
  if (PyDict_DelItemString(options.get(), "max_version") != 0) return {};
  return Ref(call_object(method.get(), no_arguments.get(), options.get()));
}

template <class Managed>
void delete_managed(void* pointer) {
  auto* managed = static_cast<Managed*>(pointer);
  if (managed->deleter) managed->deleter(managed);
}

bool is_deleted(PyObject* array) {
  const SavedException saved;
  const Ref method = attribute_or_null(array, "is_deleted");
  const Ref answer(method ? call_objects(method.get()) : nullptr);
  if (!answer) PyErr_Clear();
  return answer.get() == Py_True;
}

/// The reason why an object gave no capsule. An error is set, unless it is an array that JAX has deleted.
Why no_capsule(const View& view) {
  if (protocol_of(Py_TYPE(view.object)).family != k_jax || !is_deleted(view.object)) return Why::unreadable;
  PyErr_Clear();
  return Why::deleted;
}

Why view_by_dlpack(Frame& frame, View& view) {
  const Ref device(call_method(view.object, "__dlpack_device__", nullptr));
  int device_type = 0, device_id = 0;
  if (!device || !PyArg_ParseTuple(device.get(), "ii", &device_type, &device_id)) return no_capsule(view);
  const Ref capsule = dlpack_capsule(frame, view.object, device_type);
  if (!capsule) return no_capsule(view);
  // Work-around: JAX's capsules do not say that its arrays are read only.
  // Trigger: an array of JAX is passed to a function that writes. Symptom: a value changes that others may
  // share. Removal: the capsules have DLPack's flag.
  view.read_only = protocol_of(Py_TYPE(view.object)).family == k_jax;
  if (PyCapsule_IsValid(capsule.get(), dlpack::k_capsule)) {
    auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule.get(), dlpack::k_capsule));
    PyCapsule_SetName(capsule.get(), dlpack::k_capsule_used);
    frame.on_end(delete_managed<dlpack::Managed>, managed);
    if (managed->version.major != dlpack::k_major) {
      PyErr_Format(PyExc_BufferError, "its DLPack version is %u.%u", managed->version.major,
                   managed->version.minor);
      return Why::unreadable;
    }
    view.tensor = managed->tensor;
    view.read_only |= (managed->flags & dlpack::k_read_only) != 0;
    return Why::fits;
  }
  auto* managed =
      static_cast<dlpack::OldManaged*>(PyCapsule_GetPointer(capsule.get(), dlpack::k_old_capsule));
  if (!managed) return Why::unreadable;
  PyCapsule_SetName(capsule.get(), dlpack::k_old_capsule_used);
  frame.on_end(delete_managed<dlpack::OldManaged>, managed);
  view.tensor = managed->tensor;
  return Why::fits;
}

/// Copies a tuple of ints into the frame's memory; null with an error set if the object is none.
int64_t* int_tuple(Frame& frame, PyObject* tuple, Py_ssize_t n) {
  auto* items = frame.room_for<int64_t>(n);
  if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != n) {
    PyErr_SetString(PyExc_BufferError, "its array interface is malformed");
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < n; ++i) {
    items[i] = run_python<PyLong_AsLongLong>(PyTuple_GetItem(tuple, i));
    if (items[i] == -1 && PyErr_Occurred()) return nullptr;
  }
  return items;
}

void release_buffer(void* buffer) {
  run_python<PyBuffer_Release>(static_cast<Py_buffer*>(buffer));
}

/// Orders the pending work of the exporter's stream before work on the call's stream. False with an error
/// set.
bool wait_for_exporter(Frame& frame, const tarsia_tensor& tensor, PyObject* stream) {
  if (!stream || stream == Py_None) return true;  // nothing to wait for
  void* producer = run_python<PyLong_AsVoidPtr>(stream);
  if (!producer && PyErr_Occurred()) return false;
  constexpr uintptr_t k_legacy_default = 1;  // the interface's number for CUDA's null stream
  if (reinterpret_cast<uintptr_t>(producer) == k_legacy_default) producer = nullptr;
  if (const int error = let_wait(tensor.device.id, stream_of_call(frame), producer)) {
    PyErr_Format(PyExc_BufferError,
                 "CUDA cannot wait for the stream of its __cuda_array_interface__: error %d", error);
    return false;
  }
  return true;
}

/// The address: "data" is (address, read-only), or in __array_interface__ a buffer, or missing, which means
/// the object's own.
bool interface_data(Frame& frame, View& view, PyObject* data, PyObject* interface) {
  if (data && PyTuple_Check(data) && PyTuple_Size(data) >= 2) {
    view.tensor.data = run_python<PyLong_AsVoidPtr>(PyTuple_GetItem(data, 0));
    view.read_only = run_python<PyObject_IsTrue>(PyTuple_GetItem(data, 1)) == 1;
    return view.tensor.data || !PyErr_Occurred();
  }
  if (view.tensor.device.type != TARSIA_CPU) return false;
  auto* buffer = frame.room_for<Py_buffer>(1);
  PyObject* owner = data && data != Py_None ? data : view.object;
  if (run_python<PyObject_GetBuffer>(owner, buffer, PyBUF_SIMPLE) != 0) return false;
  frame.on_end(release_buffer, buffer);
  const Ref offset = entry_of(interface, "offset");
  view.tensor.data =
      static_cast<char*>(buffer->buf) + (offset ? run_python<PyLong_AsSsize_t>(offset.get()) : 0);
  view.read_only = buffer->readonly;
  return !PyErr_Occurred();
}

/// By __cuda_array_interface__ or, on the CPU, __array_interface__.
Why view_by_interface(Frame& frame, View& view, const char* name, tarsia_device_type device) {
  Ref interface(run_python<PyObject_GetAttrString>(view.object, name));
  if (!interface) return Why::unreadable;
  const auto malformed = [&] {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_BufferError, "its %s is malformed", name);
    return Why::unreadable;
  };
  if (!PyDict_Check(interface.get())) return malformed();
  interface = Ref(PyDict_Copy(interface.get()));  // what other threads do not change
  if (!interface) return Why::unreadable;
  const auto entry = [&](const char* key) { return PyDict_GetItemString(interface.get(), key); };
  PyObject *shape = entry("shape"), *strides = entry("strides"), *type = entry("typestr"),
           *mask = entry("mask");
  tarsia_tensor& tensor = view.tensor;
  tensor = {};
  tensor.device = {device, 0};
  if (!shape || !type || !PyTuple_Check(shape) ||
      !interface_data(frame, view, entry("data"), interface.get()))
    return malformed();
  if (mask && mask != Py_None) return Why::masked;
  tensor.dtype = dtype_of_typestr(text_of(type));
  if (device == TARSIA_GPU) {
    tensor.device.id = device_of_address(tensor.data);
    if (!wait_for_exporter(frame, tensor, entry("stream"))) return Why::unreadable;
  }
  tensor.ndim = static_cast<int32_t>(PyTuple_Size(shape));
  tensor.shape = int_tuple(frame, shape, tensor.ndim);
  if (!tensor.shape) return Why::unreadable;
  if (tensor.dtype.lanes == 0) return Why::element_type;
  if (!strides || strides == Py_None) return Why::fits;
  const int64_t* byte_strides = int_tuple(frame, strides, tensor.ndim);
  return byte_strides ? set_byte_strides(frame, tensor, byte_strides) : Why::unreadable;
}

/// By the buffer protocol.
///
/// Work-around: ctypes leaves out the strides that it is asked for.
/// Trigger: an array of ctypes, or of another exporter that leaves out what follows from the rest: strides of
/// contiguous memory, the shape of a single dimension. Symptom: a null pointer is read, and the process ends.
/// Removal: exporters give what PyBUF_RECORDS_RO asks for.
Why view_by_buffer(Frame& frame, View& view) {
  auto* buffer = frame.room_for<Py_buffer>(1);
  if (run_python<PyObject_GetBuffer>(view.object, buffer, PyBUF_RECORDS_RO) != 0) return Why::unreadable;
  frame.on_end(release_buffer, buffer);
  tarsia_tensor& tensor = view.tensor;
  tensor = {};
  tensor.data = buffer->buf;
  tensor.device = {TARSIA_CPU, 0};
  tensor.ndim = buffer->ndim;
  static_assert(sizeof(Py_ssize_t) == sizeof(int64_t));
  tensor.shape = reinterpret_cast<int64_t*>(buffer->shape);
  tensor.dtype = dtype_of_format(buffer->format ? buffer->format : "", buffer->itemsize);
  view.read_only = buffer->readonly;
  if (tensor.dtype.lanes == 0) return Why::element_type;
  if (!tensor.shape && tensor.ndim > 0) {
    tensor.ndim = 1;
    tensor.shape = frame.room_for<int64_t>(1);
    tensor.shape[0] = buffer->len / buffer->itemsize;
  }
  if (!buffer->strides) return Why::fits;
  return set_byte_strides(frame, tensor, reinterpret_cast<const int64_t*>(buffer->strides));
}

}  // namespace

Why set_byte_strides(Frame& frame, tarsia_tensor& tensor, const int64_t* byte_strides) {
  const int64_t bytes = item_bytes(tensor.dtype);
  tensor.strides = frame.room_for<int64_t>(tensor.ndim);
  for (int i = 0; i < tensor.ndim; ++i) {
    tensor.strides[i] = byte_strides[i] / bytes;
    if (byte_strides[i] % bytes != 0 && tensor.shape[i] > 1) return Why::strides;
  }
  return Why::fits;
}

bool goes_with(Frame& frame, const ExchangeProtocol& protocol, PyObject* object) {
  if (protocol.family == k_no_family) return true;
  if (frame.family == k_no_family) {
    frame.family = protocol.family;
    frame.family_object = object;
    return true;
  }
  return (protocol.family == k_cupy && frame.family == k_numpy) ||
         (protocol.family == k_numpy && frame.family == k_cupy);
}

Why view_slow_path(Frame& frame, ExchangeProtocol protocol, View& view) {
  switch (protocol.kind) {
    case ProtocolKind::tarsia:
      view.tensor = *storage_of(view.object)->tensor;
      return Why::fits;
    case ProtocolKind::masked:
      return Why::masked;
    case ProtocolKind::dlpack:
      return view_by_dlpack(frame, view);
    case ProtocolKind::cuda_interface:
      return view_by_interface(frame, view, k_cuda_interface, TARSIA_GPU);
    case ProtocolKind::array_interface:
      return view_by_interface(frame, view, k_array_interface, TARSIA_CPU);
    case ProtocolKind::buffer:
      return view_by_buffer(frame, view);
    default:
      break;
  }
  const char* const interface = own_interface(view.object);
  if (!interface) return Why::type;
  return view_by_interface(frame, view, interface, interface == k_array_interface ? TARSIA_CPU : TARSIA_GPU);
}

const char* own_interface(PyObject* object) {
  if (!PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_HEAPTYPE)) return nullptr;
  for (const char* name : {k_cuda_interface, k_array_interface})
    if (attribute_or_null(object, name)) return name;
  return nullptr;
}

PyObject* dtype_of_tensor(PyObject* object) {
  Frame frame;
  View* view = frame.new_view(object);
  if (protocol_of(Py_TYPE(object)).kind == ProtocolKind::none || view_of(frame, *view) != Why::fits) {
    PyErr_Clear();
    return Ref::borrow(Py_None).release();
  }
  return PyUnicode_FromString(dtype_name(view->tensor.dtype).c_str());
}

bool is_changed_lazily(PyObject* tensor) {
  if (protocol_of(Py_TYPE(tensor)).kind != ProtocolKind::exchange) return false;
  for (const char* question : {"is_conj", "is_neg"}) {
    const Ref method = attribute_or_null(tensor, question);
    const Ref answer(method ? call_objects(method.get()) : nullptr);
    if (!answer) PyErr_Clear();
    if (answer.get() == Py_True) return true;
  }
  return false;
}

}  // namespace tarsia::python
