// Handles are torch.Tensor's own `_cdata`; libtorch_python wraps them.
#include "python/tensor/torch_tensor.h"

#include <dlfcn.h>
#include <tarsia/c_api.h>

#include <atomic>

namespace tarsia::python {
namespace {

/// torch.Tensor; null without an error before PyTorch is imported.
Ref tensor_class() {
  const Ref torch = loaded_module("torch");
  return torch ? attribute_or_null(torch.get(), "Tensor") : Ref();
}

/// THPVariable_Wrap(const at::TensorBase&). A TensorBase is a pointer to a TensorImpl.
using Wrap = PyObject* (*)(void* const* tensor);

Wrap find_wrap() {
  void* const library = dlopen("libtorch_python.so", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
  if (!library) return nullptr;
  const auto found = reinterpret_cast<Wrap>(dlsym(library, "_Z16THPVariable_WrapRKN2at10TensorBaseE"));
  dlclose(library);  // PyTorch itself holds it
  return found;
}

}  // namespace

void* torch_handle(PyObject* object) {
  const Ref type = tensor_class();
  if (!type) return nullptr;
  const int is_tensor = run_python<PyObject_IsInstance>(object, type.get());
  if (is_tensor <= 0) return nullptr;
  const Ref handle(run_python<PyObject_GetAttrString>(object, "_cdata"));
  return handle ? run_python<PyLong_AsVoidPtr>(handle.get()) : nullptr;
}

PyObject* torch_object(tarsia_storage* stolen) {
  static std::atomic<Wrap> s_wrap{nullptr};
  Wrap wrap = s_wrap.load(std::memory_order_acquire);
  PyObject* object = nullptr;
  if (!wrap) {
    const Ref torch(import_module("torch"));
    if (torch) {
      wrap = find_wrap();
      if (!wrap)
        PyErr_SetString(PyExc_ImportError,
                        "this PyTorch gives no THPVariable_Wrap, with which tensors of C++ become "
                        "torch.Tensors: PyTorch 2.4 or newer is needed");
      s_wrap.store(wrap, std::memory_order_release);
    }
  }
  if (wrap) object = wrap(&stolen->context);
  tarsia_storage_release(stolen);
  return object;
}

}  // namespace tarsia::python
