// Asks types for their protocols.
#include "python/tensor/exchange_protocol.h"

#include <mutex>
#include <unordered_map>

#include "python/tensor/numpy_api.h"
#include "python/tensor/tensor.h"

namespace tarsia::python {
namespace detail {
ProtocolSlot g_protocols[k_protocol_slots];
}

namespace {

constexpr int32_t k_most_exchanges = 30;
std::atomic<const dlpack::Exchange*> g_exchanges[k_most_exchanges];

/// A version of the table that this code understands, or null.
const dlpack::Exchange* usable(const dlpack::Exchange* exchange) {
  auto* header = reinterpret_cast<const dlpack::ExchangeHeader*>(exchange);
  while (header && header->version.major != dlpack::k_major) header = header->previous;
  return reinterpret_cast<const dlpack::Exchange*>(header);
}

/// The number of a framework's table. A new table gets a new number, or k_framework_tarsia if there are too
/// many.
int32_t number_of(const dlpack::Exchange* exchange) {
  for (int32_t i = 0; i < k_most_exchanges; ++i) {
    const dlpack::Exchange* known = nullptr;  // becomes what another table has put there
    if (g_exchanges[i].compare_exchange_strong(known, exchange) || known == exchange)
      return k_first_exchange + i;
  }
  return k_framework_tarsia;
}

bool is_numpy_scalar(PyTypeObject* type) {
  const Ref numpy = loaded_module("numpy");
  const Ref generic = numpy ? attribute_or_null(numpy.get(), "generic") : Ref();
  return generic && PyType_Check(generic.get()) &&
         PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(generic.get()));
}

bool is_masked(PyTypeObject* type) {
  const Ref module = loaded_module("numpy.ma");
  const Ref masked = module ? attribute_or_null(module.get(), "MaskedArray") : Ref();
  return masked && PyType_Check(masked.get()) &&
         PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(masked.get()));
}

/// The family of a class without any of the tables above, from the package that defines it.
uint8_t family_of(PyTypeObject* type) {
  const std::string name = type_name(type), package = name.substr(0, name.find('.'));
  return package == "cupy"                         ? k_cupy
         : package == "jaxlib" || package == "jax" ? k_jax
         : package == "tensorflow"                 ? k_tensorflow
                                                   : k_no_family;
}

ExchangeProtocol ask(PyTypeObject* type) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (type == tensor_type()) return {ProtocolKind::tarsia, k_no_family, k_framework_tarsia, nullptr};
  PyTypeObject* array = numpy::array_type();
  if (array && PyType_IsSubtype(type, array))
    return {is_masked(type) ? ProtocolKind::masked : ProtocolKind::numpy, k_numpy, k_framework_numpy,
            nullptr};
  if (const Ref capsule = attribute_or_null(object, dlpack::k_exchange_attribute);
      capsule && PyCapsule_IsValid(capsule.get(), dlpack::k_exchange_capsule)) {
    void* table = PyCapsule_GetPointer(capsule.get(), dlpack::k_exchange_capsule);
    const dlpack::Exchange* exchange = usable(static_cast<const dlpack::Exchange*>(table));
    if (exchange && exchange->view_of_object) {
      const int32_t number = number_of(exchange);
      return {ProtocolKind::exchange, static_cast<uint8_t>(number), number, exchange};
    }
  }
  if (is_numpy_scalar(type)) return {};
  if (attribute_or_null(object, "__dlpack__") && attribute_or_null(object, "__dlpack_device__"))
    return {ProtocolKind::dlpack, family_of(type), k_framework_tarsia, nullptr};
  if (attribute_or_null(object, "__cuda_array_interface__"))
    return {ProtocolKind::cuda_interface, family_of(type), k_framework_tarsia, nullptr};
  if (PyType_GetSlot(type, Py_bf_getbuffer))
    return {ProtocolKind::buffer, k_no_family, k_framework_numpy, nullptr};
  if (attribute_or_null(object, "__array_interface__"))
    return {ProtocolKind::array_interface, k_no_family, k_framework_numpy, nullptr};
  return {};
}

#ifdef Py_GIL_DISABLED
/// What is known of a type, for ever. Types that share a slot do not make it anew.
const detail::KnownProtocol* remember(PyTypeObject* type, const ExchangeProtocol& protocol) {
  static std::mutex s_mutex;
  static auto* const s_all = new std::unordered_map<PyTypeObject*, detail::KnownProtocol>;
  const std::scoped_lock lock(s_mutex);
  const auto [place, fresh] = s_all->try_emplace(type, detail::KnownProtocol{type, protocol});
  if (fresh) Py_INCREF(reinterpret_cast<PyObject*>(type));
  return &place->second;
}
#endif

}  // namespace

ExchangeProtocol detail::find_protocol(PyTypeObject* type, ProtocolSlot& slot) {
  const ExchangeProtocol protocol = ask(type);
  // "Nothing" is asked again for classes written in Python, which may still get their methods.
  if (protocol.kind == ProtocolKind::none && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return protocol;
#ifdef Py_GIL_DISABLED
  slot.store(remember(type, protocol), std::memory_order_release);
#else
  Ref old(reinterpret_cast<PyObject*>(slot.type));
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  slot = {type, protocol};
#endif
  return protocol;
}

}  // namespace tarsia::python
