// Macros and functions for device code, which NVRTC, nvcc, Clang and g++ all compile.
#pragma once

#if defined(__CUDACC__) || defined(__CUDA__)
/// Marks a function for the host and for devices. Expands to nothing where a source has no CUDA.
#define TARSIA_HOST_DEVICE __host__ __device__
#else
#define TARSIA_HOST_DEVICE
#endif

/// A loop of `i` over 0 … n-1 for a one-dimensional grid of any size, whose threads share the work. `i` has
/// 64 bits.
#define TARSIA_GRID_LOOP(i, n)                                                                             \
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, tarsia_end_ = (n); i < tarsia_end_; \
       i += (long long)blockDim.x * gridDim.x)

namespace tarsia {

/// Returns the number of blocks of `threads` threads with which to launch a TARSIA_GRID_LOOP over n elements:
/// at least 1, at most 65535.
TARSIA_HOST_DEVICE constexpr unsigned blocks(long long n, unsigned threads = 256) {
  return n <= 0 ? 1u
         : (n + (long long)threads - 1) / threads > 65535LL
             ? 65535u
             : unsigned((n + (long long)threads - 1) / threads);
}

/// Stores a value in an element of an output as its write request says: add (3) adds, null (0) does nothing,
/// the others overwrite.
template <class T_>
TARSIA_HOST_DEVICE inline void assign(T_& output_, int request_, T_ value_) {
  if (request_ == 3)
    output_ = output_ + value_;
  else if (request_ != 0)
    output_ = value_;
}

}  // namespace tarsia
