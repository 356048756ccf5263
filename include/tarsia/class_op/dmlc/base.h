// What dmlc's headers say of the compiler: every compiler here has C++11.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#if !defined(DMLC_USE_CXX11)
#define DMLC_USE_CXX11 1
#endif
#if !defined(DMLC_ENABLE_STD_THREAD)
#define DMLC_ENABLE_STD_THREAD 1
#endif
#define DMLC_STR_CONCAT_(a, b) a##b
#define DMLC_STR_CONCAT(a, b) DMLC_STR_CONCAT_(a, b)
#define DMLC_ATTRIBUTE_UNUSED __attribute__((unused))
#define DMLC_NO_EXCEPTION noexcept(true)
#define DMLC_NO_INLINE __attribute__((noinline))
#define DMLC_THROW_EXCEPTION noexcept(false)
#define DMLC_DISALLOW_COPY_AND_ASSIGN(T) \
  T(T const&) = delete;                  \
  T(T&&) = delete;                       \
  T& operator=(T const&) = delete;       \
  T& operator=(T&&) = delete

namespace dmlc {
typedef float real_t;
typedef unsigned index_t;

/// The first element of a vector; null if it has none.
template <class T>
T* BeginPtr(std::vector<T>& items) {
  return items.empty() ? nullptr : items.data();
}
template <class T>
const T* BeginPtr(const std::vector<T>& items) {
  return items.empty() ? nullptr : items.data();
}
inline const char* BeginPtr(const std::string& text) {
  return text.empty() ? nullptr : text.data();
}
}  // namespace dmlc
