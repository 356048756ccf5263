// expect: kernel setup, kernel monte_carlo, kernel others
#include <curand_kernel.h>
#include <curand.h>
#include <stdlib.h>
#include <time.h>
__global__ void setup(curandState *s, unsigned long seed) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curand_init(seed, i, 0, &s[i]);
}
__global__ void monte_carlo(curandState *s, unsigned *hits, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  curandState local = s[i];
  unsigned h = 0;
  for (int k = 0; k < n; ++k) {
    float x = curand_uniform(&local), y = curand_uniform(&local);
    h += x * x + y * y <= 1.0f;
  }
  s[i] = local;
  atomicAdd(hits, h);
}
__global__ void others(curandStatePhilox4_32_10_t *p, curandStateMRG32k3a *m, float4 *out) {
  curand_init(1234ULL, threadIdx.x, 0, p + threadIdx.x);
  out[threadIdx.x] = curand_normal4(p + threadIdx.x);
  curand_init(1, threadIdx.x, 0, m);
  out[0].x = curand_log_normal(m, 0.f, 1.f) + curand_poisson(p, 3.0) + (float)curand_normal_double(m) + curand(p);
}
