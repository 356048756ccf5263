// NumPy through the function table that it hands to extensions.
#include "python/tensor/numpy_api.h"

#include <atomic>

#include "python/core/dtype.h"

namespace tarsia::python::numpy {

const tarsia_dtype k_dtypes[24] = {{TARSIA_BOOL, 8, 1},
                                   {TARSIA_INT, 8, 1},
                                   {TARSIA_UINT, 8, 1},
                                   {TARSIA_INT, 16, 1},
                                   {TARSIA_UINT, 16, 1},
                                   {TARSIA_INT, 32, 1},
                                   {TARSIA_UINT, 32, 1},
                                   {TARSIA_INT, 64, 1},
                                   {TARSIA_UINT, 64, 1},
                                   {TARSIA_INT, 64, 1},
                                   {TARSIA_UINT, 64, 1},
                                   {TARSIA_FLOAT, 32, 1},
                                   {TARSIA_FLOAT, 64, 1},
                                   {},
                                   {TARSIA_COMPLEX, 64, 1},
                                   {TARSIA_COMPLEX, 128, 1},
                                   {},
                                   {},
                                   {},
                                   {},
                                   {},
                                   {},
                                   {},
                                   {TARSIA_FLOAT, 16, 1}};

namespace {

/// The places in NumPy's table of the functions used here. NumPy keeps them for ever.
enum { k_type_slot = 2, k_descr_from_type_slot = 45, k_new_from_descr_slot = 94, k_set_base_slot = 282 };

struct Api {
  PyTypeObject* array_type = nullptr;
  Descr* (*descr_from_type)(int);
  PyObject* (*new_from_descr)(PyTypeObject*, Descr* stolen, int ndim, const int64_t* shape,
                              const int64_t* strides, void* data, int flags, PyObject* object);
  int (*set_base)(Array*, PyObject* stolen);
};

/// The table; imports NumPy. Null with an error set if that fails.
const Api* api() {
  static std::atomic<const Api*> s_api;
  if (const Api* known = s_api.load(std::memory_order_acquire)) return known;
  Ref module(import_module("numpy._core._multiarray_umath"));
  if (!module) {
    PyErr_Clear();
    module = Ref(import_module("numpy.core._multiarray_umath"));  // its name before NumPy 2
  }
  if (!module) return nullptr;
  const Ref capsule(run_python<PyObject_GetAttrString>(module.get(), "_ARRAY_API"));
  if (!capsule) return nullptr;
  void** table = static_cast<void**>(PyCapsule_GetPointer(capsule.get(), nullptr));
  if (!table) return nullptr;
  auto* found = new Api;  // stays; without the GIL, two threads may make one each
  found->descr_from_type = reinterpret_cast<decltype(Api::descr_from_type)>(table[k_descr_from_type_slot]);
  found->new_from_descr = reinterpret_cast<decltype(Api::new_from_descr)>(table[k_new_from_descr_slot]);
  found->set_base = reinterpret_cast<decltype(Api::set_base)>(table[k_set_base_slot]);
  found->array_type = static_cast<PyTypeObject*>(table[k_type_slot]);
  s_api.store(found, std::memory_order_release);
  return found;
}

/// A new reference to the descr of a dtype, or null with an error set.
Descr* descr_of(const Api& api, tarsia_dtype dtype) {
  for (int number = 0; number < 24; ++number)
    if (k_dtypes[number].lanes && k_dtypes[number] == dtype) return api.descr_from_type(number);
  const Ref ml_dtypes(import_module("ml_dtypes"));
  const Ref numpy(ml_dtypes ? import_module("numpy") : nullptr);
  if (!numpy) return nullptr;
  const Ref type(run_python<PyObject_GetAttrString>(ml_dtypes.get(), dtype_name(dtype).c_str()));
  if (!type) return nullptr;
  return reinterpret_cast<Descr*>(call_method(numpy.get(), "dtype", "O", type.get()));
}

}  // namespace

tarsia_dtype registered_dtype(const Descr* descr) {
  const Ref name = attribute_or_null(reinterpret_cast<PyObject*>(descr->element_type), "__name__");
  return dtype_named(text_of(name.get()));
}

PyTypeObject* array_type() {
  static std::atomic<PyTypeObject*> s_type = nullptr;
  if (PyTypeObject* known = s_type.load(std::memory_order_acquire)) return known;
  const Ref module = loaded_module("numpy");
  if (!module) return nullptr;
  Ref type = attribute_or_null(module.get(), "ndarray");
  if (!type || !PyType_Check(type.get())) return nullptr;
  auto* found = reinterpret_cast<PyTypeObject*>(type.release());
  s_type.store(found, std::memory_order_release);
  return found;
}

PyObject* array_over(const tarsia_tensor& tensor, PyObject* base) {
  Ref owner(base);
  const Api* numpy = api();
  if (!numpy) return nullptr;
  Descr* descr = descr_of(*numpy, tensor.dtype);
  if (!descr) return nullptr;
  constexpr int k_most_dims = 64;
  int64_t strides[k_most_dims];
  if (tensor.strides)
    for (int i = 0; i < tensor.ndim && i < k_most_dims; ++i)
      strides[i] = tensor.strides[i] * item_bytes(tensor.dtype);
  void* data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  PyObject* array = numpy->new_from_descr(numpy->array_type, descr, tensor.ndim, tensor.shape,
                                          tensor.strides ? strides : nullptr, data, k_writeable, nullptr);
  if (!array) return nullptr;
  if (numpy->set_base(reinterpret_cast<Array*>(array), owner.release()) != 0) {
    Py_DECREF(array);
    return nullptr;
  }
  return array;
}

bool can_hold(tarsia_dtype dtype) {
  const Api* numpy = api();
  Descr* descr = numpy && dtype.lanes == 1 ? descr_of(*numpy, dtype) : nullptr;
  PyErr_Clear();
  Py_XDECREF(reinterpret_cast<PyObject*>(descr));
  return descr != nullptr;
}

}  // namespace tarsia::python::numpy
