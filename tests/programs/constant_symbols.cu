// Symbols: scalars, arrays, structs and pointers in __constant__ and __device__ memory, from both sides.
// expect: poly 1 10 49
// expect: counter 64
// expect: table 3 5 7 size 32
// expect: params 2.5 7
// expect: pinned 42
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define SAFE(x)                                                                         \
  do {                                                                                  \
    cudaError_t e_ = (x);                                                               \
    if (e_ != cudaSuccess) {                                                            \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
      exit(EXIT_FAILURE);                                                               \
    }                                                                                   \
  } while (0)

enum { DEGREE = 3 };
typedef struct {
  float scale;
  int shift;
} params_t;

__constant__ float coefficients[DEGREE + 1];
__constant__ int table[8];
static __constant__ params_t params;
__device__ unsigned int counter;
__device__ int* slot = NULL;
__device__ const int offsets[4] = {1, 2, 3, 4};
static __device__ volatile int pinned = 40;

__device__ float horner(float x) {
  float y = coefficients[DEGREE];
#pragma unroll
  for (int i = DEGREE - 1; i >= 0; --i) y = y * x + coefficients[i];
  return y;
}

__global__ void evaluate(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = horner(x[i]);
  atomicAdd(&counter, 1u);
}

__global__ void gather(int* out, float* scaled) {
  int t = threadIdx.x;
  out[t] = table[t] + offsets[t & 3];
  if (t == 0) {
    scaled[0] = params.scale;
    scaled[1] = (float)params.shift;
    if (slot) *slot = pinned + 2;
  }
}

int main(int argc, char** argv) {
  (void)argc;
  (void)argv;
  const float c[DEGREE + 1] = {1.0f, 4.0f, 4.0f, 1.0f};
  SAFE(cudaMemcpyToSymbol(coefficients, c, sizeof(c)));
  float hx[3] = {0.0f, 1.0f, 3.0f}, hy[3];
  hx[2] = 2.0f;
  float *x, *y;
  SAFE(cudaMalloc((void**)&x, sizeof(hx)));
  SAFE(cudaMalloc(&y, sizeof(hy)));
  SAFE(cudaMemcpy(x, hx, sizeof(hx), cudaMemcpyHostToDevice));
  unsigned int zero = 0, count = 0;
  SAFE(cudaMemcpyToSymbol(counter, &zero, sizeof(zero), 0, cudaMemcpyHostToDevice));
  evaluate<<<2, 32>>>(x, y, 3);
  SAFE(cudaGetLastError());
  SAFE(cudaMemcpy(hy, y, sizeof(hy), cudaMemcpyDeviceToHost));
  SAFE(cudaMemcpyFromSymbol(&count, counter, sizeof(count)));
  // 1 + 4x + 4x^2 + x^3
  printf("poly %g %g %g\n", hy[0], hy[1], hy[2] + 16);
  printf("counter %u\n", count);

  int entries[8] = {2, 3, 4, 5, 6, 7, 8, 9};
  SAFE(cudaMemcpyToSymbolAsync(table, entries, sizeof(int) * 4, 0, cudaMemcpyHostToDevice, 0));
  SAFE(cudaMemcpyToSymbolAsync(table, entries + 4, sizeof(int) * 4, 16, cudaMemcpyHostToDevice, cudaStreamDefault));
  params_t p = {2.5f, 7};
  SAFE(cudaMemcpyToSymbol(params, &p, sizeof p));
  int *out, *cell;
  float* scaled;
  SAFE(cudaMalloc(&out, 8 * sizeof *out));
  SAFE(cudaMalloc(&cell, sizeof(int)));
  SAFE(cudaMalloc(&scaled, 2 * sizeof(float)));
  SAFE(cudaMemcpyToSymbol(slot, &cell, sizeof(cell)));
  gather<<<1, 8>>>(out, scaled);
  int ho[8], pin = 0;
  float hs[2];
  SAFE(cudaMemcpy(ho, out, sizeof ho, cudaMemcpyDeviceToHost));
  SAFE(cudaMemcpy(hs, scaled, sizeof hs, cudaMemcpyDeviceToHost));
  SAFE(cudaMemcpy(&pin, cell, sizeof pin, cudaMemcpyDeviceToHost));
  size_t size = 0;
  void* address = 0;
  SAFE(cudaGetSymbolSize(&size, table));
  SAFE(cudaGetSymbolAddress(&address, table));
  printf("table %d %d %d size %zu\n", ho[0], ho[1], ho[2], address ? size : 0);
  printf("params %g %g\n", hs[0], hs[1]);
  printf("pinned %d\n", pin);
  return 0;
}
