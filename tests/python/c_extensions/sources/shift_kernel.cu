// The kernel, which nvcc compiled to an object of its own.
#include <stdio.h>
#include <stdlib.h>

#include "shift_kernel.h"

__global__ void shift_kernel(const float *x, float by, float *y, long n) {
  long i = blockIdx.x * (long)blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + by;
}

void shift_launch(const float *x, float by, float *y, long n, cudaStream_t stream) {
  if (n == 0) return;
  shift_kernel<<<(n + 255) / 256, 256, 0, stream>>>(x, by, y, n);
  cudaError_t error = cudaGetLastError();
  if (cudaSuccess != error) {
    fprintf(stderr, "shift failed: %s\n", cudaGetErrorString(error));
    exit(-1);
  }
}
