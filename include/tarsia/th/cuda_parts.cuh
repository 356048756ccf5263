/* CUDA's runtime API, where it is found, for headers in C or C++ whose sources expect it. */
#pragma once

#if defined(__has_include)
#if __has_include(<cuda_runtime_api.h>) && !defined(__CUDACC_RTC__)
#include <cuda_runtime_api.h>
#endif
#endif
