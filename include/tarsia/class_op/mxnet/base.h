// What all class operators of MXNet share: devices, shapes, and the context that an op runs in.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include <dmlc/base.h>
#include <dmlc/parameter.h>
#include <mshadow/tensor.h>
#include <nnvm/tuple.h>

#if !defined(MXNET_USE_CUDA)
#if defined(__CUDACC__) || defined(__CUDA__)
#define MXNET_USE_CUDA 1
#else
#define MXNET_USE_CUDA 0
#endif
#endif
#if !defined(MXNET_USE_CUDNN)
#define MXNET_USE_CUDNN 0
#endif
#if MXNET_USE_CUDA
#include <tarsia/th/cuda_parts.cuh>
#endif
#define MXNET_USE_MKL2017 0
#define MXNET_USE_MKLDNN 0
#define MXNET_USE_NNPACK 0
#define MXNET_USE_OPENCV 0
#define MXNET_USE_PROFILER 0
#define MXNET_PREDICT_ONLY 0
#if !defined(MXNET_API)
#define MXNET_API
#endif
#define MXNET_MAJOR 1
#define MXNET_MINOR 0
#define MXNET_PATCH 0
#define MXNET_VERSION (MXNET_MAJOR * 10000 + MXNET_MINOR * 100 + MXNET_PATCH)
#define MXNET_MAKE_VERSION(major, minor, patch) ((major) * 10000 + (minor) * 100 + (patch))
#define PROFILER_MESSAGE(message) nullptr

namespace mxnet {

typedef mshadow::cpu cpu;
typedef mshadow::gpu gpu;
typedef mshadow::index_t index_t;
typedef mshadow::default_real_t real_t;
using TShape = nnvm::TShape;

/// A device.
struct Context {
  enum DeviceType { kCPU = cpu::kDevMask, kGPU = gpu::kDevMask, kCPUPinned = 3, kCPUShared = 5 };
  DeviceType dev_type = kCPU;
  int32_t dev_id = 0;
  static const int32_t kMaxDevType = 6;
  static const int32_t kMaxDevID = 16;

  int dev_mask() const {
    return dev_type == kGPU ? static_cast<int>(gpu::kDevMask) : static_cast<int>(cpu::kDevMask);
  }
  bool operator<(const Context& other) const {
    return dev_type != other.dev_type ? dev_type < other.dev_type : dev_id < other.dev_id;
  }
  bool operator==(const Context& other) const { return dev_type == other.dev_type && dev_id == other.dev_id; }
  bool operator!=(const Context& other) const { return !(*this == other); }
  static Context Create(DeviceType type, int32_t id = -1) {
    Context context;
    context.dev_type = type;
    context.dev_id = id < 0 ? 0 : id;
    return context;
  }
  static Context CPU(int32_t id = 0) { return Create(kCPU, id); }
  static Context GPU(int32_t id = -1) { return Create(kGPU, id); }
  static Context CPUPinned(int32_t id = -1) { return Create(kCPUPinned, id); }
};
inline std::ostream& operator<<(std::ostream& out, const Context& context) {
  return out << (context.dev_type == Context::kGPU   ? "gpu("
                 : context.dev_type == Context::kCPU ? "cpu("
                                                     : "cpu_pinned(")
             << context.dev_id << ")";
}

/// What a running op goes by.
struct RunContext {
  Context ctx;
  void* stream = nullptr;  ///< a mshadow::Stream of the op's device
  template <class xpu>
  mshadow::Stream<xpu>* get_stream() const {
    return static_cast<mshadow::Stream<xpu>*>(stream);
  }
  const Context& get_ctx() const { return ctx; }
};

}  // namespace mxnet

#define STRINGIZE_DETAIL(x) #x
#define STRINGIZE(x) STRINGIZE_DETAIL(x)
#define MXNET_DESCRIBE(...) describe(__VA_ARGS__ "\n\nFrom:" __FILE__ ":" STRINGIZE(__LINE__))
#define ADD_FILELINE "\n\nDefined in " __FILE__ ":L" STRINGIZE(__LINE__)

#include <mxnet/tensor_blob.h>
