// pow of numbers of different types, which is computed in double unless both are float. GNU's names of built-in functions.
// A kernel and a function of one name. Dependent launches.
// expect: 8 8 4 8 8
// expect: 1.21000005245 9 1331 0.25 512
// expect: 2 3 1 29 1 5
// expect: total 6
#include <cmath>
#include <cstdio>

__device__ int sum_device;
__device__ void total(int n) { sum_device += n; }
__global__ void total() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  for (int i = 1; i < 4; i++) total(i);
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

struct Curve {
  float exponent;
  __device__ float pow(float x) const { return ::pow(x, exponent); }
};

__global__ void work(double* out, float f, int i, unsigned u, long l) {
  const int sizes[] = {sizeof(pow(f, 2)), sizeof(std::pow(f, i)), sizeof(pow(f, f)), sizeof(pow(u, l)), sizeof(pow(1.0, f))};
  for (int size : sizes) *out++ = size;
  for (double value : {pow(f, 2), pow(i, 2), (double)Curve{3}.pow(11), std::pow(2, -2), pow(2u, l * l)}) *out++ = value;
  *out++ = __builtin_popcount(u);
  *out++ = __builtin_fmaxf(f, 3.0f);
  *out++ = __builtin_round(0.6);
  *out++ = __builtin_clz(4);
  *out++ = __builtin_signbit(-0.0);
  *out++ = __builtin_abs(-5);
}

int main() {
  double* out;
  cudaMallocManaged(&out, 16 * sizeof(double));
  work<<<1, 1>>>(out, 1.1f, 3, 9, 3);
  total<<<1, 1>>>();
  cudaDeviceSynchronize();
  int sum;
  cudaMemcpyFromSymbol(&sum, sum_device, sizeof sum);
  for (int line : {5, 5, 6})
    for (int i = 0; i < line; i++) printf("%.12g%c", *out++, i + 1 < line ? ' ' : '\n');
  printf("total %d\n", sum);
}
