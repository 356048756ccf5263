// Checks of calls of CUDA's libraries.
#pragma once

#include <dmlc/logging.h>
#include <mshadow/base.h>

#if MSHADOW_USE_CUDA
#define CHECK_CUDA_ERROR(text)                                                                      \
  {                                                                                                 \
    const cudaError_t tarsia_error = cudaGetLastError();                                            \
    CHECK_EQ(tarsia_error, cudaSuccess) << (text) << " CUDA: " << cudaGetErrorString(tarsia_error); \
  }
#define CUDA_CALL(call)                                                            \
  {                                                                                \
    const cudaError_t tarsia_error = (call);                                       \
    CHECK(tarsia_error == cudaSuccess || tarsia_error == cudaErrorCudartUnloading) \
        << "CUDA: " << cudaGetErrorString(tarsia_error);                           \
  }
#define MSHADOW_CUDA_CALL(call) CUDA_CALL(call)
#define MSHADOW_CUDA_POST_KERNEL_CHECK(name)                                                              \
  {                                                                                                       \
    const cudaError_t tarsia_error = cudaPeekAtLastError();                                               \
    CHECK_EQ(tarsia_error, cudaSuccess) << "Name: " #name " ErrStr:" << cudaGetErrorString(tarsia_error); \
  }
#endif
