// Libraries of modules/, and calls into them, for the tests of this folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "registry/call/call.h"
#include "registry/loader.h"
#include "registry/op/bound_op.h"
#include "registry/op/op_registry.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

namespace tarsia::registry {

/// What is allocated on this thread while it lives may leak: states of libraries that have no way to destroy
/// them.
class LeaksAllowed {
 public:
  explicit LeaksAllowed([[maybe_unused]] bool allowed) {
#if defined(__SANITIZE_ADDRESS__)
    if (allowed) m_disabler.emplace();
#endif
  }

 private:
#if defined(__SANITIZE_ADDRESS__)
  std::optional<__lsan::ScopedDisabler> m_disabler;
#endif
};

inline std::string module_path(const std::string& name) {
  return std::string(TARSIA_TEST_MODULES) + "/" + name + ".so";
}
inline Ref<Library> load(const std::string& name) {
  return load_file(module_path(name));
}

inline tarsia_value of(bool b) {
  tarsia_value v{};
  v.i = b, v.kind = TARSIA_KIND_BOOL;
  return v;
}
inline tarsia_value of(std::int64_t i) {
  tarsia_value v{};
  v.i = i, v.kind = TARSIA_KIND_INT;
  return v;
}
inline tarsia_value of(int i) {
  return of(std::int64_t{i});
}
inline tarsia_value of(double f) {
  tarsia_value v{};
  v.f = f, v.kind = TARSIA_KIND_FLOAT;
  return v;
}
inline tarsia_value of(const char* s) {
  tarsia_value v{};
  v.s = s, v.size = static_cast<std::uint32_t>(std::strlen(s)), v.kind = TARSIA_KIND_STRING;
  return v;
}
inline tarsia_value of(const tarsia_tensor& t) {
  tarsia_value v{};
  v.t = &t, v.kind = TARSIA_KIND_TENSOR;
  return v;
}
inline tarsia_value of(std::vector<tarsia_value>& list) {
  tarsia_value v{};
  v.v = list.data(), v.size = static_cast<std::uint32_t>(list.size()), v.kind = TARSIA_KIND_LIST;
  return v;
}
inline tarsia_value none() {
  return {};
}

template <class T>
constexpr tarsia_dtype k_dtype_of{};
template <>
inline constexpr tarsia_dtype k_dtype_of<float>{TARSIA_FLOAT, 32, 1};
template <>
inline constexpr tarsia_dtype k_dtype_of<double>{TARSIA_FLOAT, 64, 1};
template <>
inline constexpr tarsia_dtype k_dtype_of<std::int64_t>{TARSIA_INT, 64, 1};
template <>
inline constexpr tarsia_dtype k_dtype_of<std::int32_t>{TARSIA_INT, 32, 1};

/// A contiguous CPU tensor over a vector of its own.
template <class T>
struct Array {
  Array(std::vector<std::int64_t> extents, std::vector<T> elements)
      : shape(std::move(extents)), data(std::move(elements)) {
    std::int64_t n = 1;
    for (std::int64_t extent : shape) n *= extent;
    data.resize(static_cast<size_t>(n));
    tensor.data = data.data();
    tensor.device = {TARSIA_CPU, 0};
    tensor.ndim = static_cast<std::int32_t>(shape.size());
    tensor.dtype = k_dtype_of<T>;
    tensor.shape = shape.data();
  }
  Array(const Array&) = delete;
  explicit Array(std::vector<T> elements) : Array({static_cast<std::int64_t>(elements.size())}, elements) {}

  std::vector<std::int64_t> shape;
  std::vector<T> data;
  tarsia_tensor tensor{};
};

/// The overloads of a name.
inline std::vector<const tarsia_function*> functions_named(const Library& library, const std::string& name) {
  std::vector<const tarsia_function*> found;
  for (const tarsia_function* function : library.functions())
    if (name == function->name) found.push_back(function);
  return found;
}

/// Calls by name in a context of its own, which lives as long as the object. Errors are thrown.
struct Call {
  Call(const Library& library, const std::string& name, std::vector<tarsia_value> args) {
    const auto overloads = functions_named(library, name);
    if (call_function(overloads, args, result)) throw_last_error();
  }
  CallFrame frame{tarsia_device{TARSIA_CPU, 0}};
  tarsia_value result{};
};

/// The message and code of the tarsia::Error that f throws.
template <class F>
std::string error_of(F&& f, ErrorCode* code = nullptr) {
  try {
    f();
  } catch (const Error& e) {
    if (code) *code = e.code();
    return e.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

}  // namespace tarsia::registry
