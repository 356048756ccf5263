// expect: kernel k
#include <iostream>
#include <fstream>
#include <vector>
#include <cstdlib>
using namespace std;
#define BLOCK 16
typedef struct { float x, y; int count; } Point;
__device__ float distance(Point a, Point b) { return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y)); }
__device__ int count = 0;
__global__ void k(Point *p, float *out, size_t n) {
  uint i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = max(distance(p[0], p[i]), min(1.0f, fabs(p[i].x))) + abs(p[i].count) + pow(2.0, 3);
  int swap = 3;
  count = swap;
}
