// The module's code is called last of all, by code that stays: a module cannot unmap itself.
#include "registry/library/module_tensor.h"

#include "base/error.h"
#include "registry/crash/module_range.h"
#include "registry/library/library.h"

namespace tarsia::registry {
namespace {

struct ModuleTensor {
  tarsia_storage storage;  // first: its address is what others hold
  void (*destroy)(void* context);
  Ref<const Library> library;
};

void release_module_tensor(tarsia_storage* storage) {
  const auto* tensor = reinterpret_cast<ModuleTensor*>(storage);
  tensor->destroy(storage->context);
  delete tensor;
}

}  // namespace

tarsia_storage* adopt_tensor(const tarsia_tensor* tensor, void* context, void (*destroy)(void* context)) {
  const auto* library = static_cast<const Library*>(find_owner(reinterpret_cast<std::uintptr_t>(destroy)));
  if (!library) throw Error("a tensor is given back by code of no library that Tarsia has loaded");
  // One of its functions runs, so somebody holds the library.
  auto* made =
      new ModuleTensor{{tensor, 1, 0, context, &release_module_tensor}, destroy, Ref<const Library>(library)};
  return &made->storage;
}

}  // namespace tarsia::registry
