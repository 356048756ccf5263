// The order in which g++ evaluates the arguments of a call, which nvcc's builds inherit: from the last to the first.
// expect: 3 2 1
// expect: float3 6 5 4
// expect: pointer 8 7
// expect: template 10 9
// expect: nested 13 12 11
// expect: device 16 15 14
#include <stdio.h>

static int counter = 0;
int next() { return ++counter; }
void show(const char* what, int a, int b) { printf("%s %d %d\n", what, a, b); }
template <typename T>
void shown(const char* what, T a, T b) {
  printf("%s %d %d\n", what, a, b);
}
int global = 0;

__global__ void kernel(int3 v, int* out) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

int main() {
  printf("%d %d %d\n", next(), next(), next());
  float3 v = make_float3(next(), next(), next());
  printf("float3 %g %g %g\n", v.x, v.y, v.z);
  void (*pointer)(const char*, int, int) = show;
  pointer("pointer", next(), next());
  shown("template", next(), next());
  auto nested = [](int a, int b, int c) { printf("nested %d %d %d\n", a, b, c); };
  int3 n = make_int3(next(), next(), next());
  nested(n.x, n.y, n.z);
  int* d;
  cudaMalloc(&d, 12);
  kernel<<<1, 1>>>(make_int3(next(), next(), next()), d);
  int h[3];
  cudaMemcpy(h, d, 12, cudaMemcpyDeviceToHost);
  printf("device %d %d %d\n", h[0], h[1], h[2]);
  return global;
}
