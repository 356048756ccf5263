// expect: kernel axpy, kernel bf, kernel fp8
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
__global__ void axpy(__half a, const __half *x, __half2 *y2, half *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hadd(__hmul(a, x[i]), y[i]);
  y2[i] = __hfma2(y2[i], __half2half2(a), __float2half2_rn(1.0f));
  y[i] += half(2.0f) * x[i] + hexp(a) + __float2half(__half2float(x[0]));
  if (__hgt(a, y[i]) && a < y[i]) atomicAdd(y2, y2[1]);
}
__global__ void bf(nv_bfloat16 *x, __nv_bfloat162 *y) {
  x[threadIdx.x] = __float2bfloat16(__bfloat162float(x[threadIdx.x]) * 2.f);
  y[0] = __hadd2(y[0], y[1]);
}
__global__ void fp8(__nv_fp8_e4m3 *x, float *y) { y[threadIdx.x] = float(x[threadIdx.x]); x[0] = __nv_fp8_e4m3(1.5f); }
