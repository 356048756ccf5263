// The part of XLA's FFI that a handler needs, laid out as in xla/ffi/api/c_api.h of OpenXLA (version 0.1 to
// 0.4). Structs may grow at their end. They hold their size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarsia::python::xla {

struct Api;
struct Error;
struct Context;

enum : int32_t { k_extension_metadata = 1, k_attribute_scalar = 3 };

/// Codes of errors are those of absl::Status.
enum ErrorCode : int32_t {
  k_unknown = 2,
  k_invalid_argument = 3,
  k_not_found = 5,
  k_resource_exhausted = 8,
  k_out_of_range = 11,
  k_unimplemented = 12,
  k_internal = 13,
};

/// Of xla::PrimitiveType.
enum DataType : int32_t {
  k_pred = 1,
  k_s8 = 2,
  k_s16 = 3,
  k_s32 = 4,
  k_s64 = 5,
  k_u8 = 6,
  k_u16 = 7,
  k_u32 = 8,
  k_u64 = 9,
  k_f16 = 10,
  k_f32 = 11,
  k_f64 = 12,
  k_c64 = 15,
  k_bf16 = 16,
  k_c128 = 18,
};

struct Extension {
  size_t size;
  int32_t type;
  Extension* next;
};

struct Version {
  size_t size;
  Extension* extension;
  int32_t major, minor;
};

struct Metadata {
  size_t size;
  Version version;
  uint32_t traits;
};

struct MetadataExtension {
  Extension base;
  Metadata* metadata;
};

struct Buffer {
  size_t size;
  Extension* extension;
  int32_t dtype;
  void* data;
  int64_t rank;
  int64_t* dims;
};

struct Bytes {
  const char* data;
  size_t size;
};

struct Scalar {
  int32_t dtype;
  void* value;
};

/// Arguments and results: `types` are all those of buffers, 1.
struct Buffers {
  size_t size;
  Extension* extension;
  int64_t n;
  int32_t* types;
  Buffer** buffers;
};

/// Sorted by name.
struct Attributes {
  size_t size;
  Extension* extension;
  int64_t n;
  int32_t* types;
  Bytes** names;
  void** values;
};

struct Frame {
  size_t size;
  Extension* extension;
  const Api* api;
  Context* context;
  int32_t stage;
  Buffers args;
  Buffers results;
  Attributes attributes;
};

struct ErrorArgs {
  size_t size;
  Extension* extension;
  const char* message;
  int32_t code;
};

struct StreamArgs {
  size_t size;
  Extension* extension;
  Context* context;
  void* stream;  ///< out: a CUstream
};

struct Api {
  size_t size;
  Extension* extension;
  Version version;
  const void* internal;
  Error* (*create_error)(ErrorArgs*);
  void* get_message;
  void (*destroy_error)(void* args);
  void* register_handler;
  Error* (*get_stream)(StreamArgs*);
};

static_assert(sizeof(Buffers) == 40 && sizeof(Attributes) == 48 && sizeof(Buffer) == 48);
static_assert(offsetof(Frame, args) == 40 && offsetof(Api, create_error) == 48);

}  // namespace tarsia::python::xla
