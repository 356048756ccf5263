// Variables in device memory as tensors.
#include "registry/call/global.h"

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.h"

namespace tarsia::registry {

namespace {

/// The tensor is first: the storage points at it.
struct GlobalTensor {
  tarsia_tensor tensor;
  tarsia_storage storage;
  Ref<Library> library;
};

void release_global(tarsia_storage* storage) {
  delete static_cast<GlobalTensor*>(storage->context);
}

}  // namespace

tarsia_storage* open_global(Library& library, const tarsia_global& global, int device) {
  const std::string name = std::string("variable ") + global.name;
  cuda_driver();
  if (device < 0) device = std::max(0, cuda_current_device());
  const void* shadow = global.shadow_slot ? *global.shadow_slot : nullptr;
  if (!shadow || !library.runtime())
    throw NotFound(name + " is not in the device code: nothing there uses it, or it is only declared");
  const CudaDeviceScope scope(device);
  void* address = nullptr;
  if (global.flags & TARSIA_GLOBAL_MANAGED) {
    address = library.managed_pointer()
                  ? library.managed_pointer()(static_cast<void**>(const_cast<void*>(shadow)))
                  : nullptr;
    if (!address) throw CudaError(name + " has no memory: its device code cannot be loaded");
  } else if (const int code = library.runtime()->cudaGetSymbolAddress(&address, shadow)) {
    library.runtime()->cudaGetLastError();
    throw CudaError(name + " on GPU " + std::to_string(device) + ": " +
                    library.runtime()->cudaGetErrorName(code) + ": " +
                    library.runtime()->cudaGetErrorString(code));
  }
  auto made = std::make_unique<GlobalTensor>();
  made->library = Ref<Library>(&library);
  made->tensor.data = address;
  made->tensor.device = {TARSIA_GPU, device};
  made->tensor.ndim = global.ndim;
  made->tensor.dtype = global.dtype;
  made->tensor.shape = const_cast<std::int64_t*>(global.shape);
  made->storage.tensor = &made->tensor;
  made->storage.refs = 1;
  made->storage.context = made.get();
  made->storage.release = release_global;
  return &made.release()->storage;
}

}  // namespace tarsia::registry
