// expect: kernel v
#include <cuda.h>
#include <cuda_runtime.h>
#if !defined(CUDART_VERSION) || CUDART_VERSION < 11000 || CUDA_VERSION < 11000
#error too old
#endif
#if defined(__linux__) && defined(__CUDACC__) && defined(__NVCC__)
#ifdef __CUDA_ARCH__
#if __CUDA_ARCH__ >= 600
#define FAST 1
#endif
#endif
#endif
__global__ void v(int *x, CUdeviceptr p) { *x = FAST; }
