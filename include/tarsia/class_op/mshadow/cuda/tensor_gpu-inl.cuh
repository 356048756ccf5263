// What CUDA sources take from mshadow's device code: the sizes of launches, their checks, and whole tensors.
#pragma once

#include <mshadow/tensor.h>

#include <mshadow/cuda/reduce.cuh>
#include <tarsia/class_op/src/common/cuda_utils.h>

// The shuffles of warps from before CUDA 9, which said no mask: those of the warp that are here take part.
#if defined(__CUDACC__) || defined(__CUDA__) || defined(__CUDACC_RTC__)
#if !defined(__shfl)
#define __shfl(...) __shfl_sync(__activemask(), __VA_ARGS__)
#endif
#if !defined(__shfl_up)
#define __shfl_up(...) __shfl_up_sync(__activemask(), __VA_ARGS__)
#endif
#if !defined(__shfl_down)
#define __shfl_down(...) __shfl_down_sync(__activemask(), __VA_ARGS__)
#endif
#if !defined(__shfl_xor)
#define __shfl_xor(...) __shfl_xor_sync(__activemask(), __VA_ARGS__)
#endif
#endif
