// The CUDA runtime that modules link: the few functions of it that libtarsia calls, found in the process.
#pragma once

#include <cstddef>
#include <string>

namespace tarsia::registry {

/// dim3 of vector_types.h.
struct Dim3 {
  unsigned x, y, z;
};

struct CudaRuntime {
  int (*cudaLaunchKernel)(const void*, Dim3, Dim3, void**, size_t, void*) = nullptr;
  int (*cudaPeekAtLastError)() = nullptr;
  int (*cudaGetLastError)() = nullptr;
  const char* (*cudaGetErrorName)(int) = nullptr;
  const char* (*cudaGetErrorString)(int) = nullptr;
  int (*cudaFuncSetAttribute)(const void*, int, int) = nullptr;
};

/// The mapped runtime with this soname ("libcudart.so.13"); null if there is none. Lives as long as the
/// process.
const CudaRuntime* find_cuda_runtime(const std::string& soname);

}  // namespace tarsia::registry
