// The CUDA runtime that modules link: the few functions of it that libtarsia calls, found in the process.
#pragma once

#include <string>

#include "base/cuda/cuda_driver.h"

namespace tarsia::registry {

struct CudaRuntime {
  int (*cudaPeekAtLastError)() = nullptr;
  int (*cudaGetLastError)() = nullptr;
  const char* (*cudaGetErrorName)(int) = nullptr;
  const char* (*cudaGetErrorString)(int) = nullptr;
  /// The driver's function of a kernel's stub, on the current GPU.
  int (*cudaGetFuncBySymbol)(CuFunction*, const void*) = nullptr;
  int (*cudaGetSymbolAddress)(void**, const void*) = nullptr;
};

/// The mapped runtime with this soname ("libcudart.so.13"); null if there is none. Lives as long as the
/// process.
const CudaRuntime* find_cuda_runtime(const std::string& soname);

}  // namespace tarsia::registry
