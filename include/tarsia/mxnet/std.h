// The headers that sources for MXNet's extension API expect to be included, and DLPack 0.2 as that API had
// it.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <tarsia/detail/support.h>

// The std types of the API's signatures are instantiated once, in an object that is linked to every inline
// source, and their larger members are not inlined. Otherwise an op's host half would take the compiler three
// times as long. That object is compiled with plain options: with libstdc++'s checked containers or its old
// strings, the header is compiled like any other.
#if defined(TARSIA_INLINE_SOURCE) && defined(__clang__) && !defined(_GLIBCXX_DEBUG) && _GLIBCXX_USE_CXX11_ABI
#define TARSIA_MXNET_LINKED
#define TARSIA_MXNET_SUPPORT TARSIA_DETAIL_SUPPORT
#include <tarsia/mxnet/std_extern.h>
#else
#define TARSIA_MXNET_SUPPORT inline
#endif

#if defined(__NVCC__)
#include <tarsia/mxnet/cuda.cuh>
#endif

#if !defined(DLPACK_VERSION)
#define DLPACK_VERSION 020
#define DLPACK_DLL
#define DLPACK_EXTERN_C extern "C"

extern "C" {

typedef enum {
  kDLCPU = 1,
  kDLGPU = 2,
  kDLCPUPinned = 3,
  kDLOpenCL = 4,
  kDLVulkan = 7,
  kDLMetal = 8,
  kDLVPI = 9,
  kDLROCM = 10,
  kDLExtDev = 12
} DLDeviceType;

typedef struct {
  DLDeviceType device_type;
  int device_id;
} DLContext;

typedef enum { kDLInt = 0, kDLUInt = 1, kDLFloat = 2 } DLDataTypeCode;

typedef struct {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
} DLDataType;

/// Strides are in elements; null means row-major contiguous.
typedef struct {
  void* data;
  DLContext ctx;
  int ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} DLTensor;

}  // extern "C"
#endif

namespace mxnet {
namespace ext {
namespace tarsia_detail {
/// In place of std::to_string. Work-around: std::to_string leaves a unique symbol behind.
/// Trigger: a library calls it. Symptom: glibc keeps a library with such symbols mapped for ever.
/// Removal: libstdc++'s has none.
TARSIA_MXNET_SUPPORT std::string number(long long n_) {
  char digits_[24];
  char* w_ = digits_ + sizeof(digits_);
  unsigned long long u_ =
      n_ < 0 ? 0 - static_cast<unsigned long long>(n_) : static_cast<unsigned long long>(n_);
  do *--w_ = static_cast<char>('0' + u_ % 10);
  while (u_ /= 10);
  if (n_ < 0) *--w_ = '-';
  return std::string(w_, digits_ + sizeof(digits_));
}
}  // namespace tarsia_detail
}  // namespace ext
}  // namespace mxnet

/// The state of the header, once for each library: two libraries must not share it.
#define TARSIA_MXNET_HIDDEN __attribute__((visibility("hidden")))
