// The parts of CUDA that MXNet's extension API includes for CUDA sources.
#pragma once

#include <cuda_runtime.h>

#if !defined(__has_include)
#include <curand_kernel.h>
#elif __has_include(<curand_kernel.h>)
#include <curand_kernel.h>
#else
// Without cuRAND, a source may still name the type of the states, but not use them.
struct curandStatePhilox4_32_10;
typedef struct curandStatePhilox4_32_10 curandStatePhilox4_32_10_t;
#endif
