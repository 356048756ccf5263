// Storages over DLPack tensors and DLPack tensors over storages.
#include <cstdlib>
#include <new>

#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace {

/// A storage whose context is a dlpack::Managed.
void release_managed(tarsia_storage* storage) {
  auto* managed = static_cast<dlpack::Managed*>(storage->context);
  if (managed && managed->deleter) managed->deleter(managed);
  delete storage;
}

void delete_export(dlpack::Managed* managed) {
  release(static_cast<tarsia_storage*>(managed->context));
  delete managed;
}

}  // namespace

void retain(tarsia_storage* storage) {
  __atomic_add_fetch(&storage->refs, 1, __ATOMIC_RELAXED);
}

void release(tarsia_storage* storage) {
  if (__atomic_sub_fetch(&storage->refs, 1, __ATOMIC_ACQ_REL) == 0) storage->release(storage);
}

tarsia_storage* storage_over(dlpack::Managed* stolen, int32_t framework) {
  return new tarsia_storage{&stolen->tensor, 1, framework, stolen, release_managed};
}

dlpack::Managed* managed_over(tarsia_storage* stolen) {
  if (stolen->release == release_managed && __atomic_load_n(&stolen->refs, __ATOMIC_ACQUIRE) == 1) {
    auto* managed = static_cast<dlpack::Managed*>(std::exchange(stolen->context, nullptr));
    release(stolen);
    return managed;
  }
  return new dlpack::Managed{{dlpack::k_major, dlpack::k_minor}, stolen, delete_export, 0, *stolen->tensor};
}

}  // namespace tarsia::python
