// What device code may use of Tarsia: macros and functions that NVRTC, nvcc, Clang and g++ all take.
#pragma once

#if defined(__CUDACC__) || defined(__CUDA__)
#define TARSIA_HOST_DEVICE __host__ __device__
#else
#define TARSIA_HOST_DEVICE
#endif

/// A loop over 0 … n-1 in which the threads of a one-dimensional grid, of any size, share the work. Index is
/// 64-bit.
#define TARSIA_GRID_LOOP(i, n)                                                                             \
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x, tarsia_end_ = (n); i < tarsia_end_; \
       i += (long long)blockDim.x * gridDim.x)

namespace tarsia {

/// How many blocks of `threads` a grid-stride loop over n elements is launched with: at least 1, at most
/// 65535.
TARSIA_HOST_DEVICE constexpr unsigned blocks(long long n, unsigned threads = 256) {
  return n <= 0 ? 1u
         : (n + (long long)threads - 1) / threads > 65535LL
             ? 65535u
             : unsigned((n + (long long)threads - 1) / threads);
}

/// Stores into an output as its write request says: add (3) adds, null (0) leaves it alone.
template <class T_>
TARSIA_HOST_DEVICE inline void assign(T_& output_, int request_, T_ value_) {
  if (request_ == 3)
    output_ = output_ + value_;
  else if (request_ != 0)
    output_ = value_;
}

}  // namespace tarsia
