// expect: kernel step, kernel lookup, variable g_count, variable g_table, variable coeff, managed ns::grid, managed total
#include <cuda_runtime.h>
#include <cmath>
#define N 64
__device__ unsigned int g_count = 0;
__device__ float g_table[N];
__constant__ float coeff[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
__constant__ struct Params { int n; float dt; double mass[3]; } params;
namespace ns { __managed__ float grid[N][N]; }
__managed__ int total;
static __device__ const int offsets[4][2] = {{0, 1}, {1, 0}, {0, -1}, {-1, 0}};
__device__ __forceinline__ int wrap(int i) { return (i + N) % N; }
__global__ void step(float *out) {
  int x = threadIdx.x, y = blockIdx.x;
  float s = 0;
  for (int k = 0; k < 4; ++k) s += ns::grid[wrap(y + offsets[k][0])][wrap(x + offsets[k][1])] * coeff[k];
  out[y * N + x] = s * params.dt + (float)params.mass[2];
  if (atomicAdd(&g_count, 1) == params.n) total = 1;
}
__global__ void lookup(int *i) { g_table[*i & (N - 1)] = std::sqrt(std::fabs(coeff[1])) + std::pow(2.0f, 3) + std::exp(1.0) + sinf(3) + M_PI + INFINITY; }
