// What nvcc puts before a CUDA source, for the device's half where Clang compiles it: the functions of CUDA's
// runtime headers, defined by Clang's own wrapper of them. tarsia_cuda_host.h is the same for the host.
#pragma once
#pragma GCC system_header
// clang-format off: the order of these includes matters
#include <__clang_cuda_math_forward_declares.h>
// Work-around: <math.h> of C++20 puts std::lerp into the global namespace, see
// jit/worker/source/host_headers/tarsia_cuda_host.h.
#if __cplusplus > 201703L
#define __CUDACC__ 1
#include <cmath>
namespace std {
void tarsia_no_lerp();
}
#define lerp tarsia_no_lerp
#include <math.h>
#undef lerp
#undef __CUDACC__
#endif
#define TARSIA_CLANG_WRAPPER 1
#include <__clang_cuda_runtime_wrapper.h>
#undef TARSIA_CLANG_WRAPPER
#include <assert.h>
#include <new>
#include <stdio.h>
#include <time.h>
#include <tarsia_cuda_builtins.h>
#include <tarsia_cuda_min_max.h>
// Both halves see the same compiler: names of kernels depend on it in CCCL's headers.
#undef __CUDACC__
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#undef __CUDA__
// Work-around: Clang knows managed variables for HIP alone, see jit/worker/host/device_entities.cpp.
#undef __managed__
#define __managed__ __attribute__((device, annotate("tarsia_managed")))
// A lambda that the source marks __device__: jit/worker/source/device_lambdas.h.
#define __tarsiaL_ __host__ __device__
// clang-format on
