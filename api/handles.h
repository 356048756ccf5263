// The opaque types of the C ABI are the registry's classes under other names.
#pragma once

#include <tarsia/c_api.h>

#include <span>

#include "registry/library/library.h"
#include "registry/op/bound_op.h"
#include "registry/op/op_registry.h"

namespace tarsia::api {

inline registry::Library* from_c(tarsia_library* l) {
  return reinterpret_cast<registry::Library*>(l);
}
inline const registry::Library* from_c(const tarsia_library* l) {
  return reinterpret_cast<const registry::Library*>(l);
}
inline tarsia_library* to_c(registry::Library* l) {
  return reinterpret_cast<tarsia_library*>(l);
}

inline registry::OpEntry* from_c(tarsia_op_handle* o) {
  return reinterpret_cast<registry::OpEntry*>(o);
}
inline const registry::OpEntry* from_c(const tarsia_op_handle* o) {
  return reinterpret_cast<const registry::OpEntry*>(o);
}
inline tarsia_op_handle* to_c(registry::OpEntry* o) {
  return reinterpret_cast<tarsia_op_handle*>(o);
}

inline registry::BoundOp* from_c(tarsia_bound_op* b) {
  return reinterpret_cast<registry::BoundOp*>(b);
}
inline const registry::BoundOp* from_c(const tarsia_bound_op* b) {
  return reinterpret_cast<const registry::BoundOp*>(b);
}
inline tarsia_bound_op* to_c(registry::BoundOp* b) {
  return reinterpret_cast<tarsia_bound_op*>(b);
}

/// The span as pointer and length.
template <class T, class N>
const T* give(std::span<const T> items, N* n) {
  *n = static_cast<N>(items.size());
  return items.data();
}

}  // namespace tarsia::api
