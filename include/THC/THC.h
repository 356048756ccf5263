/* THC, tensors on GPUs of Lua's and of early PyTorch, for C extensions of that time:
   docs/coming_from/c_extensions.md. */
#ifndef TARSIA_THC_H
#define TARSIA_THC_H
#if !defined(__CUDACC_RTC__)
#include <tarsia/th/gpu.h>
#include <tarsia/th/cuda_parts.cuh>
#endif
#endif
