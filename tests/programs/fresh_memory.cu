// Memory that a program has not written to: zeros, as in a process of its own.
// expect: 0 0 0 0
// expect: 7
#include <cstdio>
#include <cstdlib>
#include <vector>

template <class T>
T sum(const T* x, int n) {
  T total = 0;
  for (int i = 0; i < n; i++) total += x[i] != 0;
  return total;
}

__global__ void seven(int* x) { *x = 7; }

int main() {
  for (int bytes : {24, 1000, 100000}) {
    void* kept[20];
    for (void*& p : kept) p = malloc(bytes);
    for (void* p : kept) free(p);
  }
  int *a = (int*)malloc(24 * sizeof(int)), *b = (int*)malloc(200000);
  float *c = new float[250], *d = (float*)operator new(100000);
  printf("%d %d %g %g\n", sum(a, 24), sum(b, 50000), sum(c, 250), sum(d, 25000));
  int* x;
  cudaMallocManaged(&x, sizeof(int));
  seven<<<1, 1>>>(x);
  cudaDeviceSynchronize();
  printf("%d\n", *x);
}
