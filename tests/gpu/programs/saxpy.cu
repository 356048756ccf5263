// y = a x + y, as CUDA's first examples do it: allocation, copies, events, error checks.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                       \
  do {                                                                                         \
    cudaError_t status = (call);                                                               \
    if (status != cudaSuccess) {                                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(status));          \
      exit(EXIT_FAILURE);                                                                      \
    }                                                                                          \
  } while (0)

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv) {
  int n = argc > 1 ? atoi(argv[1]) : 1 << 20;
  size_t size = n * sizeof(float);
  float *x = (float *)malloc(size), *y = (float *)malloc(size);
  for (int i = 0; i < n; i++) {
    x[i] = 1.0f + i % 7;
    y[i] = 2.0f;
  }
  float *d_x = NULL, *d_y = NULL;
  CUDA_CHECK(cudaMalloc((void **)&d_x, size));
  CUDA_CHECK(cudaMalloc((void **)&d_y, size));
  CUDA_CHECK(cudaMemcpy(d_x, x, size, cudaMemcpyHostToDevice));
  CUDA_CHECK(cudaMemcpy(d_y, y, size, cudaMemcpyHostToDevice));
  cudaEvent_t start, stop;
  CUDA_CHECK(cudaEventCreate(&start));
  CUDA_CHECK(cudaEventCreate(&stop));
  CUDA_CHECK(cudaEventRecord(start));
  int threads = 256, blocks = (n + threads - 1) / threads;
  printf("launch with %d blocks of %d threads\n", blocks, threads);
  saxpy<<<blocks, threads>>>(n, 2.0f, d_x, d_y);
  CUDA_CHECK(cudaGetLastError());
  CUDA_CHECK(cudaEventRecord(stop));
  CUDA_CHECK(cudaMemcpy(y, d_y, size, cudaMemcpyDeviceToHost));
  CUDA_CHECK(cudaEventSynchronize(stop));
  float milliseconds = 0;
  CUDA_CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  float worst = 0.0f;
  double sum = 0;
  for (int i = 0; i < n; i++) {
    worst = fmaxf(worst, fabsf(y[i] - (2.0f * (1.0f + i % 7) + 2.0f)));
    sum += y[i];
  }
  printf("max error %f, sum %.1f, it took %s\n", worst, sum, milliseconds > 0 ? "some time" : "no time");
  CUDA_CHECK(cudaFree(d_x));
  CUDA_CHECK(cudaFree(d_y));
  free(x);
  free(y);
  printf("done\n");
}
