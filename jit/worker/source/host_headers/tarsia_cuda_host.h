// What nvcc puts before a CUDA source, for the host's half: CUDA's runtime, parsed once and kept precompiled.
//
// Work-around: CUDA's headers declare the C library's functions again.
// Trigger: any CUDA source. Symptom: the functions are __host__ __device__ or __device__ there, and Clang
// refuses these as overloads of the C library's own. So the attributes are switched off while the runtime's
// headers are read, and on again for the user's text, whose device functions the split must see; and
// tarsia_cuda_math.h stands in for crt/math_functions.h.
// Removal: Clang takes these declarations, or CUDA's headers leave them out for it.
#pragma once
#pragma GCC system_header
// clang-format off: the order of these includes matters
#define __CUDACC__ 1
#define __NVCC__ 1
#define __NV_NO_HOST_COMPILER_CHECK 1
#undef __CUDA__
#include <cuda_runtime_api.h>
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#undef __location__
#define __location__(a)
#define __MATH_FUNCTIONS_H__
// Work-around: <math.h> of C++20 puts std::lerp into the global namespace.
// Trigger: a CUDA source with a lerp of its own, as many programs and the vector functions of CUDA's samples
// have one. Symptom: the two clash. So the library's stays in std.
// Removal: libstdc++ keeps it in std.
#if __cplusplus > 201703L
#include <cmath>
namespace std {
void tarsia_no_lerp();
}
#define lerp tarsia_no_lerp
#include <math.h>
#undef lerp
#else
#include <math.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <stdio.h>
#include <assert.h>
#include <new>
#include <cmath>
#include <cstdlib>
#include <tarsia_cuda_math.h>
#include <cuda_runtime.h>
#undef __location__
#define __location__(a) __annotate__(a)
// Work-around: Clang knows managed variables for HIP alone, see jit/worker/host/device_entities.cpp.
#undef __managed__
#define __managed__ __attribute__((device, annotate("tarsia_managed")))
// A lambda that the source marks __device__, see jit/worker/source/device_lambdas.h.
#define __tarsiaL_ __host__ __device__
// clang-format on
