// The protocol by which a Python type exchanges tensors, found once for each type.
#pragma once

#include <atomic>

#include "python/core/py.h"
#include "python/tensor/dlpack.h"

namespace tarsia::python {

/// The protocols, in the order in which they are tried.
enum class ProtocolKind : uint8_t {
  none,             ///< not a tensor
  tarsia,           ///< tarsia.Tensor
  numpy,            ///< numpy.ndarray, its fields
  masked,           ///< numpy.ma.MaskedArray: refused, since a C++ function sees no mask
  exchange,         ///< DLPack's C exchange API (PyTorch)
  dlpack,           ///< __dlpack__
  cuda_interface,   ///< __cuda_array_interface__
  buffer,           ///< the buffer protocol
  array_interface,  ///< __array_interface__
};

/// Numbers for tarsia_storage.framework. Those from k_first_exchange on are exchange APIs, in the order in
/// which they were met.
enum Framework : int32_t { k_framework_tarsia = 0, k_framework_numpy = 1, k_first_exchange = 2 };

/// The owner of tensors. Those of one call must be of one family. Frameworks from k_first_exchange on are
/// families of their own. k_no_family goes with all (buffers, tarsia.Tensor, unknown classes). CuPy's goes
/// with NumPy's.
enum Family : uint8_t { k_no_family = 0, k_numpy = k_framework_numpy, k_cupy = 100, k_jax, k_tensorflow };

struct ExchangeProtocol {
  ProtocolKind kind = ProtocolKind::none;
  uint8_t family = k_no_family;
  int32_t framework =
      k_framework_tarsia;  ///< the framework that makes the results of a call with such a tensor
  const dlpack::Exchange* exchange = nullptr;
};

namespace detail {
struct KnownProtocol {
  PyTypeObject* type;  ///< owned
  ExchangeProtocol protocol;
};
#ifdef Py_GIL_DISABLED
/// Threads read slots while others fill them. So a slot points to what never changes and is never freed.
using ProtocolSlot = std::atomic<const KnownProtocol*>;
inline const KnownProtocol* known_in(const ProtocolSlot& slot) {
  return slot.load(std::memory_order_acquire);
}
#else
using ProtocolSlot = KnownProtocol;
inline const KnownProtocol* known_in(const ProtocolSlot& slot) {
  return &slot;
}
#endif
constexpr size_t k_protocol_slots = 256;
extern ProtocolSlot g_protocols[k_protocol_slots];
ExchangeProtocol find_protocol(PyTypeObject* type, ProtocolSlot& slot);
}  // namespace detail

/// The protocol of a type. May run Python code the first time; never fails, errors count as
/// ProtocolKind::none.
inline ExchangeProtocol protocol_of(PyTypeObject* type) {
  // Type objects are 16-byte aligned and hundreds of bytes apart. Few types share a slot; the last one
  // wins.
  const auto address = reinterpret_cast<uintptr_t>(type);
  detail::ProtocolSlot& slot = detail::g_protocols[(address >> 4 ^ address >> 12) % detail::k_protocol_slots];
  const detail::KnownProtocol* known = detail::known_in(slot);
#ifdef Py_GIL_DISABLED
  if (known && known->type == type) [[likely]]
#else
  if (known->type == type) [[likely]]
#endif
    return known->protocol;
  return detail::find_protocol(type, slot);
}

}  // namespace tarsia::python
