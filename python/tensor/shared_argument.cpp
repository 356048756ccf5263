// A framework with an exchange API shares the memory itself. For others the storage holds the object.
#include "python/tensor/shared_argument.h"

#include <tarsia/c_api.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "python/core/errors.h"
#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace {

/// A tensor whose memory a Python object holds. Its shape and strides follow.
struct HeldTensor {
  tarsia_storage storage;  // first: its address is what others hold
  tarsia_tensor tensor;
  PyObject* owner;
  int64_t lengths[];
};

void release_held(tarsia_storage* storage) {
  auto* held = reinterpret_cast<HeldTensor*>(storage);
  if (Py_IsInitialized()) {  // a static of the callee's may end after the interpreter
    const Locked locked;
    const SavedException saved;
    Py_DECREF(held->owner);
  }
  std::free(held);
}

tarsia_storage* hold(const View& view, ProtocolKind kind) {
  // A buffer may move unless somebody has it.
  Ref owner =
      kind == ProtocolKind::buffer ? Ref(PyMemoryView_FromObject(view.object)) : Ref::borrow(view.object);
  if (!owner) return nullptr;
  const auto n = static_cast<size_t>(view.tensor.ndim);
  auto* held = static_cast<HeldTensor*>(std::malloc(sizeof(HeldTensor) + 2 * n * sizeof(int64_t)));
  if (!held) {
    PyErr_NoMemory();
    return nullptr;
  }
  held->tensor = view.tensor;
  held->tensor.shape = held->lengths;
  if (n) std::memcpy(held->lengths, view.tensor.shape, n * sizeof(int64_t));
  if (view.tensor.strides) {
    held->tensor.strides = held->lengths + n;
    std::memcpy(held->tensor.strides, view.tensor.strides, n * sizeof(int64_t));
  }
  held->owner = owner.release();
  held->storage = {&held->tensor, 1, k_framework_tarsia, nullptr, release_held};
  return &held->storage;
}

tarsia_storage* share(const View& view) {
  const ExchangeProtocol protocol = protocol_of(Py_TYPE(view.object));
  if (protocol.kind == ProtocolKind::tarsia) {
    retain(storage_of(view.object));
    return storage_of(view.object);
  }
  if (!protocol.exchange) return hold(view, protocol.kind);
  dlpack::Managed* managed = nullptr;
  if (protocol.exchange->managed_from_object(view.object, &managed) != 0) return nullptr;
  return storage_over(managed, protocol.framework);
}

}  // namespace

tarsia_storage* share_argument(const Frame& frame, const tarsia_tensor* argument) {
  const Locked locked;
  const SavedException saved;
  for (const View* view = frame.last_view; view; view = view->previous) {
    if (&view->tensor != argument) continue;
    if (tarsia_storage* shared = share(*view)) return shared;
    break;
  }
  const std::string why = PyErr_Occurred() ? take_error() : "it is no argument of this call";
  const std::string text = std::string(frame.callee_name()) + "(): a tensor cannot be shared: " + why;
  tarsia_get_host()->set_error(TARSIA_OP_ERROR, text.c_str());
  return nullptr;
}

}  // namespace tarsia::python
