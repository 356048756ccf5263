// The header of MobulaOP's kernels: one text for all cores of a CPU and for GPUs. docs/coming_from/mobula.md.
// A CUDA source is for GPUs, unless it sets USING_CUDA to 0. It includes nothing else of Tarsia.
#pragma once

#if !defined(__CUDACC_RTC__)
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#endif

#include <tarsia/mobula/common.h>
#include <tarsia/mobula/logging.h>
#if USING_CUDA
#include <tarsia/mobula/gpu.cuh>
#else
#include <tarsia/mobula/cpu.h>
#endif
#include <tarsia/mobula/loops.h>
#include <tarsia/mobula/reduce.h>

/// A barrier for all threads of a kernel, on the CPU and on a GPU. There it spans all blocks, as
/// get_num_threads() does.
#undef __syncthreads
#if USING_CUDA
#define __syncthreads() tarsia_mobula_barrier(0)
#else
#define __syncthreads() ::mobula::tarsia_detail::barrier()
#endif
