// expect: kernel counted, kernel pipelined, kernel spans
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/array>
#include <cuda/std/tuple>
#include <cuda/std/limits>
#include <cuda/pipeline>
#include <cooperative_groups.h>
#include <cstdint>
#include <type_traits>
#include <limits>
using block_barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void counted(int *out, unsigned *flag) {
  cuda::atomic_ref<int, cuda::thread_scope_device> counter(*out);
  counter.fetch_add(1, cuda::memory_order_relaxed);
  cuda::std::array<int, 3> a{1, 2, 3};
  auto t = cuda::std::make_tuple(1, 2.0f);
  out[1] = a[1] + cuda::std::get<0>(t) + cuda::std::numeric_limits<short>::max() + std::numeric_limits<signed char>::max();
  static_assert(std::is_same<uint64_t, unsigned long>::value, "the host's type");
  static_assert(cuda::std::is_same<cuda::std::int64_t, long>::value, "the host's type");
}
__global__ void pipelined(const float *g, float *out) {
  __shared__ float s[256];
  __shared__ block_barrier bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(s + threadIdx.x, g + threadIdx.x, sizeof(float), bar);
  bar.arrive_and_wait();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
__global__ void spans(long *p) {
  auto g = cooperative_groups::this_thread_block();
  p[g.thread_rank()] = INT64_MAX + LONG_MIN;
}
