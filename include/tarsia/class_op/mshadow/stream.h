// mshadow::Stream: where work of a device goes.
#pragma once

#include <mshadow/base.h>

struct CUstream_st;

namespace mshadow {

template <class Device>
struct Stream {
  void Wait() {}
  bool CheckIdle() { return true; }
  void CreateBlasHandle() {}
};

template <>
struct Stream<gpu> {
  enum HandleState { NoHandle, OwnHandle };
  CUstream_st* stream_ = nullptr;
  HandleState blas_handle_ownership_ = OwnHandle;  // matrix products find cuBLAS by themselves
  int device_ = 0;

  /// The CUDA stream. Null, CUDA's default stream, if there is none.
  static CUstream_st* GetStream(Stream<gpu>* stream) { return stream ? stream->stream_ : nullptr; }
#if MSHADOW_USE_CUDA
  void Wait() {
    const cudaError_t error = cudaStreamSynchronize(stream_);
    if (error != cudaSuccess) LOG(FATAL) << cudaGetErrorString(error);
  }
  bool CheckIdle() { return cudaStreamQuery(stream_) == cudaSuccess; }
#endif
  void CreateBlasHandle() {}
};

template <class Device>
void InitTensorEngine(int = 0) {}
template <class Device>
void ShutdownTensorEngine() {}
template <class Device>
void SetDevice(int) {}

}  // namespace mshadow
