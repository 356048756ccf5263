// expect: kernel hello
#include <assert.h>
#include <cassert>
#include <cstdio>
#include <cstring>
#include <string>
__device__ int checked(int n) {
  assert(n >= 0 && "negative");
  return n;
}
__global__ void hello(const char *name, char *copy) {
  printf("hello %s from %d, %f %llu\n", name, checked(threadIdx.x), 1.5, 7ull);
  memcpy(copy, name, 4);
  memset(copy + 4, 0, 4);
  copy[8] = strlen(name) + memcmp(name, copy, 4) + strcmp(name, "x");
  std::memset(copy, 0, 2);
}
