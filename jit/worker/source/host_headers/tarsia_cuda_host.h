// What nvcc puts before a CUDA source, for the host's half: CUDA's runtime, parsed once and kept precompiled.
//
// CUDA's headers declare most of the device's functions __host__ __device__ or __device__; in the host's
// parse these would clash with the C library's. Their attributes are therefore switched off while the
// runtime's headers are read, and on again for the user's text, whose device functions the split must see.
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
// <math.h> of C++20 puts std::lerp into the global namespace, where many programs, and the header of vector
// functions that came with CUDA's samples, have one of their own. It stays in std.
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
#undef __managed__
#define __managed__ __attribute__((device, annotate("tarsia_managed")))
// clang-format on
