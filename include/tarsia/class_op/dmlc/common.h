// Hashes of several values as one.
#pragma once

#include <functional>

#include <dmlc/base.h>

namespace dmlc {
/// The hash of what `key` is the hash of, and of a value.
template <class T>
size_t HashCombine(size_t key, const T& value) {
  return key * 1000003u ^ std::hash<T>()(value);
}
}  // namespace dmlc
