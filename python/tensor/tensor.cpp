// The Python type of Tarsia's own tensors.
#include "python/tensor/tensor.h"

#include <tarsia/c_api.h>

#include <string>
#include <vector>

#include "python/core/driver.h"
#include "python/core/dtype.h"
#include "python/core/errors.h"
#include "python/tensor/numpy_api.h"
#include "python/tensor/stream.h"
#include "python/tensor/view.h"

namespace tarsia::python {
namespace {

PyTypeObject* g_type = nullptr;

struct TensorObject {
  PyObject head;
  tarsia_storage* storage;
  void* stream;  ///< on which a GPU tensor's elements are written
};

TensorObject* self_of(PyObject* object) {
  return reinterpret_cast<TensorObject*>(object);
}
const tarsia_tensor& tensor_of(PyObject* object) {
  return *self_of(object)->storage->tensor;
}
bool is_on_gpu(const tarsia_tensor& tensor) {
  return tensor.device.type == TARSIA_GPU;
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  if (self_of(self)->storage) release(self_of(self)->storage);
  PyObject_Free(self);
  Py_DECREF(reinterpret_cast<PyObject*>(type));
}

PyObject* int_tuple(const int64_t* items, int32_t n) {
  Ref tuple(PyTuple_New(n));
  for (int32_t i = 0; tuple && i < n; ++i) {
    PyObject* item = PyLong_FromLongLong(items[i]);
    if (!item || PyTuple_SetItem(tuple.get(), i, item) != 0) return nullptr;
  }
  return tuple.release();
}

PyObject* get_shape(PyObject* self, void*) {
  return int_tuple(tensor_of(self).shape, tensor_of(self).ndim);
}

PyObject* get_strides(PyObject* self, void*) {
  const tarsia_tensor& tensor = tensor_of(self);
  if (tensor.strides) return int_tuple(tensor.strides, tensor.ndim);
  Ref tuple(PyTuple_New(tensor.ndim));
  int64_t stride = 1;
  for (int32_t i = tensor.ndim - 1; tuple && i >= 0; --i) {
    if (PyTuple_SetItem(tuple.get(), i, PyLong_FromLongLong(stride)) != 0) return nullptr;
    stride *= tensor.shape[i];
  }
  return tuple.release();
}

PyObject* get_dtype(PyObject* self, void*) {
  return PyUnicode_FromString(dtype_name(tensor_of(self).dtype).c_str());
}

std::string device_text(const tarsia_tensor& tensor) {
  return is_on_gpu(tensor) ? "cuda:" + std::to_string(tensor.device.id) : "cpu";
}

PyObject* get_device(PyObject* self, void*) {
  return PyUnicode_FromString(device_text(tensor_of(self)).c_str());
}

PyObject* get_ndim(PyObject* self, void*) {
  return PyLong_FromLong(tensor_of(self).ndim);
}

PyObject* get_size(PyObject* self, void*) {
  return PyLong_FromLongLong(element_count(tensor_of(self)));
}

PyObject* get_nbytes(PyObject* self, void*) {
  return PyLong_FromLongLong(element_count(tensor_of(self)) * item_bytes(tensor_of(self).dtype));
}

PyObject* byte_strides(const tarsia_tensor& tensor) {
  std::vector<int64_t> strides(tensor.strides, tensor.strides + tensor.ndim);
  for (int64_t& stride : strides) stride *= item_bytes(tensor.dtype);
  return int_tuple(strides.data(), tensor.ndim);
}

PyObject* get_cuda_interface(PyObject* self, void*) {
  const tarsia_tensor& tensor = tensor_of(self);
  const std::string typestr = typestr_of(tensor.dtype);
  if (!is_on_gpu(tensor) || typestr.empty()) {
    PyErr_SetString(PyExc_AttributeError,
                    !is_on_gpu(tensor) ? "__cuda_array_interface__: the tensor is on the CPU"
                                       : "__cuda_array_interface__ knows no such dtype; use __dlpack__");
    return nullptr;
  }
  PyObject* strides = is_contiguous(tensor) ? Ref::borrow(Py_None).release() : byte_strides(tensor);
  if (!strides) return nullptr;
  // Stream 1 is CUDA's legacy default stream in the interface's numbering, which has no 0.
  const auto stream = reinterpret_cast<uintptr_t>(self_of(self)->stream);
  return Py_BuildValue(
      "{s:N,s:s,s:(KO),s:N,s:i,s:K}", "shape", get_shape(self, nullptr), "typestr", typestr.c_str(), "data",
      static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(arguments::data_of(tensor))), Py_False,
      "strides", strides, "version", 3, "stream", static_cast<unsigned long long>(stream ? stream : 1));
}

PyObject* dlpack_device(PyObject* self, PyObject*) {
  return Py_BuildValue("(ii)", tensor_of(self).device.type, tensor_of(self).device.id);
}

void drop_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, dlpack::k_capsule)) return;
  auto* managed = static_cast<dlpack::Managed*>(PyCapsule_GetPointer(capsule, dlpack::k_capsule));
  managed->deleter(managed);
}

struct OldExport {
  dlpack::OldManaged managed;
  tarsia_storage* storage;
};

void delete_old_export(dlpack::OldManaged* managed) {
  auto* exported = reinterpret_cast<OldExport*>(managed);
  release(exported->storage);
  delete exported;
}

void drop_old_capsule(PyObject* capsule) {
  if (!PyCapsule_IsValid(capsule, dlpack::k_old_capsule)) return;
  delete_old_export(static_cast<dlpack::OldManaged*>(PyCapsule_GetPointer(capsule, dlpack::k_old_capsule)));
}

/// Makes the consumer's stream wait for the stream on which the tensor is written.
bool order_for(PyObject* self, PyObject* stream) {
  const tarsia_tensor& tensor = tensor_of(self);
  if (!is_on_gpu(tensor) || !stream || stream == Py_None) return true;
  const long long number = run_python<PyLong_AsLongLong>(stream);
  if (number == -1) return !PyErr_Occurred();  // DLPack: the consumer orders by itself
  void* consumer = number == 1 ? nullptr : reinterpret_cast<void*>(number);
  const int error = let_wait(tensor.device.id, consumer, self_of(self)->stream);
  if (error) PyErr_Format(PyExc_BufferError, "CUDA error %d while ordering streams", error);
  return error == 0;
}

PyObject* export_dlpack(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* k_names[] = {"stream", "max_version", "dl_device", "copy", nullptr};
  PyObject *stream = nullptr, *version = nullptr, *device = nullptr, *copy = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", const_cast<char**>(k_names), &stream,
                                   &version, &device, &copy))
    return nullptr;
  const tarsia_tensor& tensor = tensor_of(self);
  if (device && device != Py_None) {
    int type = 0, id = 0;
    if (!PyArg_ParseTuple(device, "ii", &type, &id)) return nullptr;
    if (type != tensor.device.type || id != tensor.device.id) {
      PyErr_SetString(PyExc_BufferError, "a tarsia.Tensor is exported on its own device only");
      return nullptr;
    }
  }
  if (copy == Py_True) {
    PyErr_SetString(PyExc_BufferError, "a tarsia.Tensor is exported without copying only");
    return nullptr;
  }
  if (!order_for(self, stream)) return nullptr;
  int major = 0, minor = 0;
  if (version && version != Py_None && !PyArg_ParseTuple(version, "ii", &major, &minor)) return nullptr;
  tarsia_storage* storage = self_of(self)->storage;
  retain(storage);
  if (major >= 1) {
    dlpack::Managed* managed = managed_over(storage);  // never the last reference: self has one
    PyObject* capsule = PyCapsule_New(managed, dlpack::k_capsule, drop_capsule);
    if (!capsule) managed->deleter(managed);
    return capsule;
  }
  auto* exported = new OldExport{{tensor, nullptr, delete_old_export}, storage};
  PyObject* capsule = PyCapsule_New(&exported->managed, dlpack::k_old_capsule, drop_old_capsule);
  if (!capsule) delete_old_export(&exported->managed);
  return capsule;
}

PyObject* to_numpy(PyObject* self, PyObject*) {
  const tarsia_tensor& tensor = tensor_of(self);
  if (!is_on_gpu(tensor)) {
    Py_INCREF(self);
    return numpy::array_over(tensor, self);
  }
  tarsia_storage* copy = nullptr;
  void* stream = self_of(self)->stream;
  int32_t code = tarsia_empty(tensor.shape, tensor.ndim, tensor.dtype, {TARSIA_CPU, 0}, &copy);
  if (code) return raise_last_error();
  {
    const Unlocked unlocked;
    code = tarsia_copy(copy->tensor, &tensor, stream);
  }
  const Ref owner(wrap_storage(copy, nullptr));
  if (code) return raise_last_error();
  return owner ? numpy::array_over(tensor_of(owner.get()), Ref::borrow(owner.get()).release()) : nullptr;
}

PyObject* to_array(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* k_names[] = {"dtype", "copy", nullptr};
  PyObject *dtype = nullptr, *copy = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:__array__", const_cast<char**>(k_names), &dtype, &copy))
    return nullptr;
  if (is_on_gpu(tensor_of(self)) && copy == Py_False) {
    PyErr_SetString(PyExc_ValueError, "the tensor is on a GPU: making an array of it copies");
    return nullptr;
  }
  Ref array(to_numpy(self, nullptr));
  if (!array || !dtype || dtype == Py_None) return array.release();
  return call_method(array.get(), "astype", "O", dtype);
}

PyObject* get_data_ptr(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(arguments::data_of(tensor_of(self)));
}

PyObject* repr(PyObject* self) {
  const Ref shape(get_shape(self, nullptr));
  if (!shape) return nullptr;
  const tarsia_tensor& tensor = tensor_of(self);
  return PyUnicode_FromFormat("<tarsia.Tensor %R %s on %s>", shape.get(), dtype_name(tensor.dtype).c_str(),
                              device_text(tensor).c_str());
}

Py_ssize_t length(PyObject* self) {
  const tarsia_tensor& tensor = tensor_of(self);
  if (tensor.ndim > 0) return tensor.shape[0];
  PyErr_SetString(PyExc_TypeError, "len() of a tensor without dimensions");
  return -1;
}

// The exchange API of tarsia.Tensor, for other consumers of it.

int exchange_allocate(tarsia_tensor* prototype, dlpack::Managed** out, void* context,
                      dlpack::SetError set_error) {
  tarsia_storage* storage = nullptr;
  if (tarsia_empty(prototype->shape, prototype->ndim, prototype->dtype, prototype->device, &storage)) {
    set_error(context, "MemoryError", tarsia_last_error()->message);
    return -1;
  }
  *out = managed_over(storage);
  return 0;
}

int exchange_to_managed(void* object, dlpack::Managed** out) {
  auto* self = static_cast<PyObject*>(object);
  retain(self_of(self)->storage);
  *out = managed_over(self_of(self)->storage);
  return 0;
}

int exchange_from_managed(dlpack::Managed* managed, void** out) {
  *out = wrap_storage(storage_over(managed, k_framework_tarsia), nullptr);
  return *out ? 0 : -1;
}

int exchange_view(void* object, tarsia_tensor* out) {
  *out = tensor_of(static_cast<PyObject*>(object));
  return 0;
}

int exchange_stream(int32_t device_type, int32_t device_id, void** out) {
  *out = device_type == TARSIA_GPU ? tarsia_get_stream(device_id) : nullptr;
  return 0;
}

dlpack::Exchange g_exchange = {{{dlpack::k_major, 3}, nullptr}, exchange_allocate, exchange_to_managed,
                               exchange_from_managed,           exchange_view,     exchange_stream};

PyGetSetDef g_properties[] = {
    {"shape", get_shape, nullptr, "The lengths of its dimensions.", nullptr},
    {"strides", get_strides, nullptr, "Steps between neighbours of each dimension, in elements.", nullptr},
    {"dtype", get_dtype, nullptr, "The type of its elements, such as 'float32'.", nullptr},
    {"device", get_device, nullptr, "'cpu' or 'cuda:N'.", nullptr},
    {"ndim", get_ndim, nullptr, "The number of its dimensions.", nullptr},
    {"size", get_size, nullptr, "The number of its elements.", nullptr},
    {"nbytes", get_nbytes, nullptr, "The bytes of its elements.", nullptr},
    {"__cuda_array_interface__", get_cuda_interface, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef g_methods[] = {
    {"__dlpack__", as_method(export_dlpack), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"__dlpack_device__", dlpack_device, METH_NOARGS, nullptr},
    {"__array__", as_method(to_array), METH_VARARGS | METH_KEYWORDS, nullptr},
    {"numpy", to_numpy, METH_NOARGS,
     "numpy($self, /)\n--\n\nA NumPy array: over the same memory on the CPU, a copy of a GPU tensor (waits "
     "for it)."},
    {"data_ptr", get_data_ptr, METH_NOARGS, "data_ptr($self, /)\n--\n\nThe address of the first element."},
    {nullptr, nullptr, 0, nullptr}};

PyType_Slot g_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_new,
     reinterpret_cast<void*>(
         refuse_new<"calls without tensors give them; make your own with NumPy or another framework">)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, g_methods},
    {Py_tp_getset, g_properties},
    {Py_sq_length, reinterpret_cast<void*>(length)},
    {Py_tp_doc,
     const_cast<char*>("A contiguous tensor of Tarsia's own, made by a call that no tensor went into. "
                       "Hand it to torch.from_dlpack, cupy.from_dlpack, numpy.asarray, or another call.")},
    {0, nullptr}};

PyType_Spec g_spec = {"tarsia.Tensor", sizeof(TensorObject), 0, Py_TPFLAGS_DEFAULT, g_slots};

}  // namespace

PyTypeObject* tensor_type() {
  return g_type;
}

bool add_tensor_type(PyObject* module) {
  const Ref type(PyType_FromSpec(&g_spec));
  const Ref capsule(PyCapsule_New(&g_exchange, dlpack::k_exchange_capsule, nullptr));
  if (!type || !capsule ||
      PyObject_SetAttrString(type.get(), dlpack::k_exchange_attribute, capsule.get()) != 0)
    return false;
  if (PyObject_SetAttrString(module, "Tensor", type.get()) != 0) return false;
  g_type = reinterpret_cast<PyTypeObject*>(Ref::borrow(type.get()).release());
  return true;
}

tarsia_storage* storage_of(PyObject* tensor) {
  return self_of(tensor)->storage;
}

PyObject* wrap_storage(tarsia_storage* stolen, void* stream) {
  PyObject* object = PyType_GenericAlloc(g_type, 0);
  if (!object) {
    release(stolen);
    return nullptr;
  }
  self_of(object)->storage = stolen;
  self_of(object)->stream = stream;
  return object;
}

}  // namespace tarsia::python
