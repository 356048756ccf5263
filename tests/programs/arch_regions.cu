// Code that differs between the host's and the device's preprocessing.
// expect: side 2 1
// expect: helper 7
// expect: double 1.5
// expect: only the device names these 12
#include <stdio.h>

#if defined(__CUDACC__)
#define HD __host__ __device__
#else
#define HD
#endif

#ifdef __CUDA_ARCH__
#define ON_DEVICE 1
#endif

typedef struct {
  int a, b;
} OnlyForTheDevice;
static const int kOnlyForTheDevice = 4;
enum { ALSO = 8 };
namespace deep {
namespace er {
__device__ int value() { return kOnlyForTheDevice; }
}
}  // namespace deep
namespace shortcut = deep::er;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 600
#else
__device__ double atomicAdd(double* address, double val) {
  unsigned long long int* address_as_ull = (unsigned long long int*)address;
  unsigned long long int old = *address_as_ull, assumed;
  do {
    assumed = old;
    old = atomicCAS(address_as_ull, assumed, __double_as_longlong(val + __longlong_as_double(assumed)));
  } while (assumed != old);
  return __longlong_as_double(old);
}
#endif

HD int side() {
#ifdef __CUDA_ARCH__
  return 2;
#else
  return 1;
#endif
}

HD inline int helper(int x) {
#if defined(ON_DEVICE)
  return x + __popc(0x1fu) + (threadIdx.x == 0 ? 0 : 1);
#elif defined(__linux__)
  return x;
#endif
}

__global__ void ask(int* out, double* d) {
  out[0] = side();
  out[1] = helper(2);
  atomicAdd(d, 1.5);
#if __CUDA_ARCH__ >= 500
  OnlyForTheDevice both = {shortcut::value(), ALSO};
  out[2] = both.a + both.b;
#endif
}

int main() {
  int *out, h[3];
  double *sum, hs = 0;
  cudaMalloc(&out, sizeof h);
  cudaMalloc(&sum, sizeof hs);
  cudaMemcpy(sum, &hs, sizeof hs, cudaMemcpyHostToDevice);
  ask<<<1, 1>>>(out, sum);
  cudaMemcpy(h, out, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(&hs, sum, sizeof hs, cudaMemcpyDeviceToHost);
  printf("side %d %d\nhelper %d\ndouble %g\nonly the device names these %d\n", h[0], side(), h[1], hs, h[2]);
}
