// The names of dtypes, devices, storage types, write requests and passes: in messages, in Python and in JSON.
#pragma once

#include <tarsia/detail/dtype_names.h>
#include <tarsia/op_abi.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace tarsia::detail {

/// Returns the name of a dtype: "float32", "complex64", "bool", "float8_e4m3fn", "float32x4" with four lanes,
/// or "dtype(99, 8)" for a dtype without a name.
inline std::string dtype_name(tarsia_dtype dtype) {
  const char* known = element_name(dtype);
  std::string name =
      known ? known : "dtype(" + std::to_string(dtype.code) + ", " + std::to_string(dtype.bits) + ")";
  if (dtype.lanes > 1) name += "x" + std::to_string(dtype.lanes);
  return name;
}

/// "cpu", or "gpu:1".
inline std::string device_name(tarsia_device device) {
  const bool is_gpu = device.type == TARSIA_GPU || device.type == TARSIA_GPU_MANAGED;
  return is_gpu ? "gpu:" + std::to_string(device.id) : "cpu";
}

/// The device that "cpu", "gpu", "gpu:1", "cuda" or "cuda:1" names, if the text is one of these.
inline std::optional<tarsia_device> device_named(std::string_view name) {
  if (name == "cpu") return tarsia_device{TARSIA_CPU, 0};
  const std::size_t colon = name.find(':');
  const std::string_view kind = name.substr(0, colon);
  if (kind != "gpu" && kind != "cuda") return std::nullopt;
  if (colon == name.npos) return tarsia_device{TARSIA_GPU, 0};
  const std::string_view digits = name.substr(colon + 1);
  if (digits.empty()) return std::nullopt;
  std::int64_t id = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    id = 10 * id + (c - '0');
    if (id > INT32_MAX) return std::nullopt;
  }
  return tarsia_device{TARSIA_GPU, static_cast<std::int32_t>(id)};
}

/// In the order of tarsia_storage_type.
inline constexpr const char* k_storage_names[] = {"dense", "row_sparse", "csr"};
static_assert(TARSIA_DENSE == 0 && TARSIA_ROW_SPARSE == 1 && TARSIA_CSR == 2);

/// In the order of tarsia_request.
inline constexpr const char* k_request_names[] = {"null", "write", "inplace", "add"};
static_assert(TARSIA_REQUEST_NULL == 0 && TARSIA_REQUEST_WRITE == 1 && TARSIA_REQUEST_INPLACE == 2 &&
              TARSIA_REQUEST_ADD == 3);

/// The storage type of a name; TARSIA_ANY_STORAGE if there is none of that name.
inline std::uint8_t storage_named(std::string_view name) {
  for (std::size_t i = 0; i < std::size(k_storage_names); ++i)
    if (name == k_storage_names[i]) return static_cast<std::uint8_t>(i);
  return TARSIA_ANY_STORAGE;
}

/// "forward", "backward".
constexpr const char* pass_name(std::uint32_t pass) {
  return pass == TARSIA_BACKWARD ? "backward" : "forward";
}

}  // namespace tarsia::detail
