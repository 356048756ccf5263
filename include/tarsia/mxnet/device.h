// The part of MXNet's extension API for device code: the numbers of dtypes and storage types.
#pragma once

namespace mxnet {
namespace ext {

/// The dtypes of tensors.
enum MXDType {
  kFloat32 = 0,
  kFloat64 = 1,
  kFloat16 = 2,
  kUint8 = 3,
  kInt32 = 4,
  kInt8 = 5,
  kInt64 = 6,
  kUNSET = 100
};

/// How a tensor is stored.
enum MXStorageType { kDefaultStorage = 0, kRowSparseStorage = 1, kCSRStorage = 2 };

/// What the functions of an op give.
enum MXReturnValue { MX_FAIL = 0, MX_SUCCESS = 1 };

}  // namespace ext
}  // namespace mxnet

/// How many random states the CPU has.
#define MX_NUM_CPU_RANDOM_STATES 1024
/// How many random states a GPU has.
#define MX_NUM_GPU_RANDOM_STATES 32768
