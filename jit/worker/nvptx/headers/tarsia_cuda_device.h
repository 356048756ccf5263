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
// Work-around: Clang declares shuffles without a mask for every architecture.
// Trigger: __shfl_xor and its like in code for sm_70 or newer, which has none; CUDA's headers do not declare them
// there. Symptom: LLVM cannot select the instruction and ends the worker. Removal: Clang's header asks for the
// architecture.
#if __CUDA_ARCH__ >= 700
#define __shfl tarsia_no_shfl
#define __shfl_up tarsia_no_shfl_up
#define __shfl_down tarsia_no_shfl_down
#define __shfl_xor tarsia_no_shfl_xor
#endif
#define TARSIA_CLANG_WRAPPER 1
#include <__clang_cuda_runtime_wrapper.h>
#undef TARSIA_CLANG_WRAPPER
#undef CUDA_VERSION  // of the wrapper's stand-in for <cuda.h>: nvcc defines it for none but those who include that
#undef __shfl
#undef __shfl_up
#undef __shfl_down
#undef __shfl_xor
#include <assert.h>
#include <bits/functexcept.h>
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
// The standard library calls these where it would throw, as in std::array::at(). In device code they trap.
#define TARSIA_THROWS(name, ...) \
  __device__ __attribute__((noreturn)) inline void name(__VA_ARGS__) { __builtin_trap(); }
namespace std {
TARSIA_THROWS(__throw_bad_exception)
TARSIA_THROWS(__throw_bad_alloc)
TARSIA_THROWS(__throw_bad_array_new_length)
TARSIA_THROWS(__throw_bad_cast)
TARSIA_THROWS(__throw_bad_typeid)
TARSIA_THROWS(__throw_logic_error, const char*)
TARSIA_THROWS(__throw_domain_error, const char*)
TARSIA_THROWS(__throw_invalid_argument, const char*)
TARSIA_THROWS(__throw_length_error, const char*)
TARSIA_THROWS(__throw_out_of_range, const char*)
TARSIA_THROWS(__throw_out_of_range_fmt, const char*, ...)
TARSIA_THROWS(__throw_runtime_error, const char*)
TARSIA_THROWS(__throw_range_error, const char*)
TARSIA_THROWS(__throw_overflow_error, const char*)
TARSIA_THROWS(__throw_underflow_error, const char*)
TARSIA_THROWS(__throw_bad_function_call)
}  // namespace std
#undef TARSIA_THROWS
// clang-format on
