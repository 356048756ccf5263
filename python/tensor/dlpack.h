// The structs of DLPack 1.x and of its C exchange API, as https://dmlc.github.io/dlpack/latest/c_api.html
// lays them out. DLTensor is tarsia_tensor, DLDevice is tarsia_device.
#pragma once

#include <tarsia/abi.h>

#include <cstdint>

namespace tarsia::python::dlpack {

constexpr uint32_t k_major = 1;
constexpr uint32_t k_minor = 0;  ///< the version asked of others, and promised to them
constexpr uint64_t k_read_only = 1;

constexpr const char* k_capsule = "dltensor_versioned";
constexpr const char* k_capsule_used = "used_dltensor_versioned";
constexpr const char* k_old_capsule = "dltensor";
constexpr const char* k_old_capsule_used = "used_dltensor";
constexpr const char* k_exchange_capsule = "dlpack_exchange_api";
constexpr const char* k_exchange_attribute = "__dlpack_c_exchange_api__";

struct Version {
  uint32_t major, minor;
};

struct OldManaged {
  tarsia_tensor tensor;
  void* context;
  void (*deleter)(OldManaged*);
};

struct Managed {
  Version version;
  void* context;
  void (*deleter)(Managed*);
  uint64_t flags;
  tarsia_tensor tensor;
};

using SetError = void (*)(void* context, const char* kind, const char* message);

struct ExchangeHeader {
  Version version;
  ExchangeHeader* previous;
};

/// Functions return 0, or -1 with a Python error set (the allocator: after a call of SetError).
struct Exchange {
  ExchangeHeader header;
  int (*allocate)(tarsia_tensor* prototype, Managed** out, void* error_context, SetError);
  int (*managed_from_object)(void* object, Managed** out);
  int (*managed_to_object)(Managed* stolen, void** out_object);
  int (*view_of_object)(void* object, tarsia_tensor* out);  ///< may be null
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

static_assert(sizeof(tarsia_tensor) == 48);
static_assert(sizeof(OldManaged) == 64);
static_assert(sizeof(Managed) == 80);
static_assert(sizeof(Exchange) == 56);

}  // namespace tarsia::python::dlpack
