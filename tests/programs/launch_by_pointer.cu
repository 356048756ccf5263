// Kernels as pointers: arrays of them, cudaLaunchKernel, attributes, occupancy, cooperative and extended launches.
// expect: table 3 12 8
// expect: template 21
// expect: launched 9
// expect: grid 64
// expect: extended 5
// expect: occupancy ok
#include <cooperative_groups.h>
#include <stdio.h>
#include <stdlib.h>
namespace cg = cooperative_groups;

#define CHECK(call)                                                                          \
  {                                                                                          \
    const cudaError_t error = call;                                                          \
    if (error != cudaSuccess) {                                                              \
      printf("Error: %s:%d, code:%d, reason: %s\n", __FILE__, __LINE__, error, cudaGetErrorString(error)); \
      exit(-10 * error);                                                                     \
    }                                                                                        \
  }

__global__ void add(int* x, int n) { *x += n; }
__global__ void mul(int* x, int n) { *x *= n; }
static __global__ void sub(int* x, int n) { *x -= n; }
typedef void (*kernel_t)(int*, int);

template <typename T, bool kNegate = false>
__global__ void scale(T* x, T by) {
  *x = kNegate ? -*x * by : *x * by;
}

__global__ void all_blocks(int* x) {
  cg::grid_group grid = cg::this_grid();
  if (threadIdx.x == 0) atomicAdd(x, 1);
  grid.sync();
  if (grid.thread_rank() == 0) x[1] = x[0] * 16;
}

int launch(kernel_t kernel, int* d, int value, int n) {
  CHECK(cudaMemcpy(d, &value, sizeof(int), cudaMemcpyHostToDevice));
  kernel<<<1, 1>>>(d, n);
  CHECK(cudaMemcpy(&value, d, sizeof(int), cudaMemcpyDeviceToHost));
  return value;
}

int main() {
  int* d;
  CHECK(cudaMalloc(&d, 4 * sizeof(int)));
  kernel_t table[] = {add, mul, &sub};
  printf("table %d %d %d\n", launch(table[0], d, 1, 2), launch(table[1], d, 3, 4), launch(table[2], d, 10, 2));
  void (*pick)(int*, int) = scale<int>;
  if (getenv("TARSIA_TEST_NEVER")) pick = scale<int, true>;
  printf("template %d\n", launch(pick, d, 7, 3));

  int value = 3, by = 3;
  CHECK(cudaMemcpy(d, &value, sizeof(int), cudaMemcpyHostToDevice));
  void* args[] = {&d, &by};
  CHECK(cudaLaunchKernel((void*)mul, dim3(1), dim3(1), args, 0, 0));
  CHECK(cudaMemcpy(&value, d, sizeof(int), cudaMemcpyDeviceToHost));
  printf("launched %d\n", value);

  CHECK(cudaMemset(d, 0, 2 * sizeof(int)));
  void* one[] = {(void*)&d};
  CHECK(cudaLaunchCooperativeKernel((const void*)all_blocks, 4, 32, one, 0, (cudaStream_t)0));
  int both[2];
  CHECK(cudaMemcpy(both, d, sizeof both, cudaMemcpyDeviceToHost));
  printf("grid %d\n", both[1]);

  cudaLaunchConfig_t config = {0};
  config.gridDim = 1;
  config.blockDim = 1;
  value = 5;
  CHECK(cudaMemcpy(d, &value, sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaLaunchKernelEx(&config, scale<int, false>, d, 1));
  CHECK(cudaMemcpy(&value, d, sizeof(int), cudaMemcpyDeviceToHost));
  printf("extended %d\n", value);

  int min_grid = 0, block = 0, active = 0;
  cudaFuncAttributes attributes;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&min_grid, &block, add, 0, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, scale<float>, 128, 0));
  CHECK(cudaFuncGetAttributes(&attributes, all_blocks));
  CHECK(cudaFuncSetCacheConfig(mul, cudaFuncCachePreferL1));
  printf("occupancy %s\n", min_grid > 0 && block > 0 && active > 0 && attributes.maxThreadsPerBlock > 0 ? "ok" : "bad");
  return EXIT_SUCCESS;
}
