// expect: kernel histogram, kernel votes, kernel cas_max, kernel clocks
#include <cstdint>
#include <cuda.h>
#include <sys/time.h>
#include <unistd.h>
#include <omp.h>
#include <vector>
#include <iostream>

typedef unsigned long long ull;
__global__ void histogram(const uint8_t *data, uint32_t *bins, size_t n) {
  __shared__ uint32_t local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
    atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(bins + i, local[i]);
}
__global__ void votes(int *out) {
  unsigned mask = __ballot_sync(0xffffffff, threadIdx.x & 1);
  int any = __any_sync(0xffffffff, threadIdx.x > 40), all = __all_sync(0xffffffff, threadIdx.x < 40);
  unsigned peers = __match_any_sync(0xffffffff, threadIdx.x / 4);
  out[threadIdx.x] = __popc(mask) + any + all + __ffs(peers) + __clz(mask) + __brev(peers) + __shfl_xor_sync(~0u, any, 1);
  __syncwarp();
  out[0] = __reduce_add_sync(0xffffffff, out[threadIdx.x]);
}
__device__ double atomic_max_double(double *at, double value) {
  ull *p = (ull *)at, old = *p, assumed;
  do {
    assumed = old;
    old = atomicCAS(p, assumed, __double_as_longlong(fmax(value, __longlong_as_double(assumed))));
  } while (assumed != old);
  return __longlong_as_double(old);
}
__global__ void cas_max(double *out, int *lock, float *f) {
  atomic_max_double(out, threadIdx.x * 1.5);
  while (atomicExch(lock, 1)) __nanosleep(20);
  __threadfence();
  atomicExch(lock, 0);
  atomicMin(lock + 1, 3), atomicMax(lock + 2, 4), atomicAnd(lock, 1), atomicOr(lock, 2), atomicXor(lock, 3), atomicInc((unsigned *)lock, 7u);
  atomicAdd(f, 1.0f), atomicAdd((double *)out, 2.0), atomicSub(lock, 1), atomicAdd_block(lock, 1), atomicAdd_system(lock, 2);
}
__global__ void clocks(int64_t *out) {
  long long int start = clock64();
  clock_t c = clock();
  __threadfence_system();
  out[threadIdx.x] = clock64() - start + c + (int64_t)INT64_MAX % 7 + UINT32_MAX;
}
