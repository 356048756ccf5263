// Launches whose brackets editors have pulled apart, constants that are templates, and 16-bit numbers made narrower.
// expect: 7 8 9 10
// expect: 6 40
// expect: -3 -3 100000
#include <cstdio>
#include <iostream>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <class T>
struct Box {
  T value;
};
template <class T>
std::ostream& operator<< (std::ostream& out, const Box<T>& box) {
  return out << box.value;
}

__global__ void set(int* x, int value) { x[threadIdx.x] = value; }
template <class T>
__global__ void set_to(T* x, T value) {
  *x = value;
}

template <typename T>
__constant__ T weights[4];
template <typename T>
__global__ void weigh(T* x) {
  *x = weights<T>[0] + weights<T>[1] + weights<T>[2] + weights<T>[3];
}

__global__ void narrow(long* out, __half h, __nv_bfloat16 b) {
  out[0] = (char)h;
  out[1] = (char)b;
  out[2] = (long)__float2bfloat16(100096.f) / 100 * 100;
}

template <class T>
T weighed(T w) {
  T host[4] = {w, w, 2 * w, 2 * w}, *x;
  cudaMallocManaged(&x, sizeof(T));
  cudaMemcpyToSymbol(weights<T>, host, sizeof host);
  weigh<T> << <1, 1 >> > (x);
  cudaDeviceSynchronize();
  return *x;
}

int main() {
  int* x;
  cudaMallocManaged(&x, 4 * sizeof(int));
  set << <1, 1 >> > (x, 7);
  set<< <1, 1>>>(x + 1, 8);
  set_to<int> <<</* a comment */1, 1 >> >(x + 2, 9);
  set_to<int> <</* another */<1, 1>>/**/>(x + 3, 10);
  cudaDeviceSynchronize();
  for (int i = 0; i < 3; i++) operator<< <int>(std::cout, Box<int>{x[i]}) << " ";
  std::cout << Box<int>{x[3]} << "\n" << weighed(1) << " " << weighed(20.0) / 3 << std::endl;

  long* out;
  cudaMallocManaged(&out, 3 * sizeof(long));
  narrow << < 1, 1 >> > (out, __float2half(-3.7f), __float2bfloat16(-3.7f));
  cudaDeviceSynchronize();
  printf("%ld %ld %ld\n", out[0], out[1], out[2]);
  return 0;
}
