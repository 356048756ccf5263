// PyTorch has a C++ class for each of Python's. tvm-ffi has one class, whose objects name Python's.
#include "registry/resources/foreign_errors.h"

#include <cxxabi.h>
#include <tarsia/abi.h>

#include <string_view>
#include <typeinfo>

namespace tarsia::registry {
namespace {

struct Known {
  std::string_view name;
  std::int32_t code;
};

constexpr Known k_torch[] = {
    {"N3c1010IndexErrorE", TARSIA_OP_INDEX_ERROR},
    {"N3c1010ValueErrorE", TARSIA_OP_VALUE_ERROR},
    {"N3c109TypeErrorE", TARSIA_OP_TYPE_ERROR},
    {"N3c1016OutOfMemoryErrorE", TARSIA_OUT_OF_MEMORY},
};
constexpr Known k_kinds[] = {
    {"IndexError", TARSIA_OP_INDEX_ERROR},
    {"ValueError", TARSIA_OP_VALUE_ERROR},
    {"TypeError", TARSIA_OP_TYPE_ERROR},
    {"MemoryError", TARSIA_OUT_OF_MEMORY},
};

template <std::size_t n>
std::int32_t code_in(const Known (&rows)[n], std::string_view name) {
  for (const Known& row : rows)
    if (row.name == name) return row.code;
  return TARSIA_OP_ERROR;
}

// tvm-ffi's C ABI: the start of an object, and what follows in that of an error (<tvm/ffi/c_api.h>).
struct TvmFfiText {
  const char* data;
  std::size_t size;
};
struct TvmFfiError {
  char object[24];
  TvmFfiText kind, message;
};

/// tvm::ffi::Error has two bases: std::exception, and the reference to its object.
std::string_view kind_of_tvm_ffi(const std::exception& e) {
  const auto* type = dynamic_cast<const abi::__vmi_class_type_info*>(&typeid(e));
  if (!type) return {};
  for (unsigned i = 0; i < type->__base_count; ++i) {
    const auto& base = type->__base_info[i];
    if (base.__base_type->name() != std::string_view("N3tvm3ffi9ObjectRefE")) continue;
    const auto* start = static_cast<const char*>(dynamic_cast<const void*>(&e)) + base.__offset();
    const auto* error = *reinterpret_cast<const TvmFfiError* const*>(start);
    // The text of what() is the object's message: if it is not, the object is another.
    if (error && error->message.data == e.what()) return {error->kind.data, error->kind.size};
  }
  return {};
}

}  // namespace

std::int32_t code_of_foreign(const std::exception& e) {
  const std::string_view name = typeid(e).name();
  return name == "N3tvm3ffi5ErrorE" ? code_in(k_kinds, kind_of_tvm_ffi(e)) : code_in(k_torch, name);
}

}  // namespace tarsia::registry
