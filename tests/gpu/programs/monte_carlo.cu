// Pi by counting points in a circle, with cuRAND's device functions, a block reduction of CUB's and half precision sums.
#include <cstdio>
#include <cub/block/block_reduce.cuh>
#include <cuda_fp16.h>
#include <curand_kernel.h>

constexpr int THREADS = 128, BLOCKS = 64;

__global__ void setup(curandState *states, unsigned long long seed) {
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  curand_init(seed, id, 0, &states[id]);
}

template <int BLOCK>
__global__ __launch_bounds__(BLOCK) void count(curandState *states, int points, unsigned long long *inside) {
  typedef cub::BlockReduce<unsigned int, BLOCK> BlockReduce;
  __shared__ typename BlockReduce::TempStorage storage;
  int id = threadIdx.x + blockIdx.x * blockDim.x;
  curandState state = states[id];
  unsigned int mine = 0;
  for (int i = 0; i < points; ++i) {
    float x = curand_uniform(&state), y = curand_uniform(&state);
    if (x * x + y * y <= 1.0f) ++mine;
  }
  states[id] = state;
  unsigned int all = BlockReduce(storage).Sum(mine);
  if (threadIdx.x == 0) atomicAdd(inside, (unsigned long long)all);
}

__global__ void halves(__half *out, int n) {
  __half sum = __float2half(0.0f);
  for (int i = 1; i <= n; ++i) sum = __hadd(sum, hrcp(__int2half_rn(i)));
  *out = sum;
}

int main() {
  curandState *states;
  unsigned long long *inside, host = 0;
  cudaMalloc((void **)&states, THREADS * BLOCKS * sizeof(curandState));
  cudaMalloc((void **)&inside, sizeof(*inside));
  cudaMemset(inside, 0, sizeof(*inside));
  setup<<<BLOCKS, THREADS>>>(states, 1234ULL);
  for (int round = 0; round < 3; ++round) {
    count<THREADS><<<BLOCKS, THREADS>>>(states, 1000, inside);
    cudaMemcpy(&host, inside, sizeof(host), cudaMemcpyDeviceToHost);
    printf("round %d: %llu inside, pi is about %.6f\n", round, host, 4.0 * host / (1000.0 * THREADS * BLOCKS * (round + 1)));
  }
  __half *sum, host_sum;
  cudaMalloc((void **)&sum, sizeof(__half));
  halves<<<1, 1>>>(sum, 20);
  cudaMemcpy(&host_sum, sum, sizeof(host_sum), cudaMemcpyDeviceToHost);
  printf("harmonic number in half precision: %.4f\n", __half2float(host_sum));
  cudaFree(states);
  cudaFree(inside);
  cudaFree(sum);
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
