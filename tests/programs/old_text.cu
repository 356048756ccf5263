// A file as an old editor left it: a byte order mark, carriage returns, café in comments that are not UTF-8.
// expect: host 9 device 9
#include <stdio.h>

#define SHOW(h, d) \
  printf("host %d device %d\n", h, d) /* µs, as in "3 µs" ÿ */

__host__ __device__ int both(int x) {
#pragma unroll
  x += 2;  // no loop follows: nvcc warns
#pragma unroll
  int y = 3;
#pragma unroll 4
  for (register int i = 0; i < 4; ++i) x += 1;
  return x + y;
}

__global__ void kernel(int* out) {
  register int x = both(0);
  *out = x;
}

main() {
  register int h = both(0);
  int d, *p;
  cudaMalloc(&p, 4);
  kernel<<<1, 1>>>(p);
  cudaMemcpy(&d, p, 4, cudaMemcpyDeviceToHost);
  SHOW(h, d);
  return 0;
}
