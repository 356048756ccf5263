// expect: kernel blur, kernel fetch1d, kernel layered, kernel write
#include <cuda_runtime.h>
#include <stdio.h>

__global__ void blur(cudaTextureObject_t image, float *out, int w, int h) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  float sum = 0.0f;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx) sum += tex2D<float>(image, x + dx + 0.5f, y + dy + 0.5f);
  out[y * w + x] = sum / 9.0f;
}
__global__ void fetch1d(cudaTextureObject_t t, float4 *out) { out[threadIdx.x] = tex1Dfetch<float4>(t, threadIdx.x); }
__global__ void layered(cudaTextureObject_t t, uchar4 *out) {
  out[threadIdx.x] = tex2DLayered<uchar4>(t, threadIdx.x, 0, blockIdx.x);
  float l = tex2DLod<float>(t, 0.5f, 0.5f, 1.0f) + tex3D<float>(t, 0, 0, 0);
  if (l > 1) out[0].x = 1;
}
__global__ void write(cudaSurfaceObject_t s, int w) {
  int x = threadIdx.x;
  uchar4 v;
  surf2Dread(&v, s, x * 4, 0);
  v.x = 255 - v.x;
  surf2Dwrite(v, s, x * 4, 0, cudaBoundaryModeClamp);
}
