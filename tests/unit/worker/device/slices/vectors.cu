// expect: kernel nbody, kernel intrinsics
#include "cuda_runtime.h"
#include "device_launch_parameters.h"
#include <float.h>
#include <math.h>
#include <math_constants.h>
#include <limits.h>
inline __host__ __device__ float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
inline __host__ __device__ float dot(float3 a, float3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
__global__ void nbody(float4 *pos, float4 *vel, float dt, int n) {
  extern __shared__ float4 tile[];
  float3 acc = {0, 0, 0};
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int t = 0; t < n; t += blockDim.x) {
    tile[threadIdx.x] = pos[t + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < blockDim.x; ++k) {
      float3 r = make_float3(tile[k].x - pos[i].x, tile[k].y - pos[i].y, tile[k].z - pos[i].z);
      float inv = rsqrtf(dot(r, r) + 1e-9f);
      acc = acc + make_float3(r.x * inv, r.y * inv, r.z * inv);
    }
    __syncthreads();
  }
  vel[i].x += acc.x * dt + FLT_MAX * 0 + (CUDART_PI_F > 3 ? 1 : INT_MIN);
  double2 d = make_double2(1, 2);
  longlong4 q;
  q.x = (long long)d.x;
  pos[i].w = __ldg(&vel[i].y) + q.x + DBL_EPSILON + UINT_MAX;
}
__global__ void intrinsics(float *x, int *y, double *d) {
  x[0] = __fdividef(x[1], x[2]) + __expf(x[3]) + __sinf(x[4]) + __powf(x[1], 2.f) + __saturatef(x[1]) + fmaf(x[0], x[1], x[2]) + __frsqrt_rn(x[3]);
  y[0] = __mul24(y[1], y[2]) + __float2int_rn(x[0]) + __umulhi(y[0], y[1]) + __dp4a(y[0], y[1], y[2]) + __byte_perm(1, 2, 3) + __funnelshift_l(1, 2, 3) + __sad(1, 2, 3);
  d[0] = __dadd_rn(d[1], d[2]) + erfc(d[3]) + tgamma(d[1]) + normcdf(d[1]) + j0(d[1]) + rcbrt(d[1]) + fma(d[0], d[1], d[2]) + copysign(d[1], -1.0);
  sincosf(x[1], &x[2], &x[3]);
  x[7] = frexpf(x[1], y) + modff(x[1], x + 2) + ldexp(1.0f, 2) + lrintf(x[1]) + hypotf(1, 2) + floorf(x[1]) + roundf(x[1]) + truncf(1) + fmodf(x[1], 2) + cbrtf(x[1]);
}
