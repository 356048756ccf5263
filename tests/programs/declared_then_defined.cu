// Kernels and device functions declared before they are defined, with defaults, other names, C linkage, friends.
// expect: forward 7 defaulted 12
// expect: linkage 5
// expect: friend 30
// expect: late template 6.5
// expect: named 1 2
#include <stdio.h>

__global__ void forward(int* out, int n);
__global__ void defaulted(int*, int = 4, int by = 3);
__device__ int helper(int);
__device__ __forceinline__ float late(float x);
template <typename T>
__global__ void late_template(T* out, T x);
extern "C" __global__ void linkage(int* out);
void run(int* d);

namespace first {
__global__ void named(int* out);
}
namespace second {
namespace nested {
__global__ void named(int* out) { out[1] = 2; }
}
}  // namespace second
using namespace second;

class Account;
__global__ void audit(const Account* account, int* out);
class Account {
 public:
  __host__ __device__ Account(int balance) : balance_(balance) {}

 private:
  int balance_;
  friend __global__ void audit(const Account* account, int* out);
};

int main(int argc, char* argv[]) {
  int* d;
  cudaMalloc(&d, 64);
  run(d);
  return 0;
}

void run(int* d) {
  int h[2];
  forward<<<1, 1>>>(d, 3);
  cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost);
  defaulted<<<1, 1>>>(d + 1);
  cudaMemcpy(h + 1, d + 1, 4, cudaMemcpyDeviceToHost);
  printf("forward %d defaulted %d\n", h[0], h[1]);
  linkage<<<1, 1>>>(d);
  cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost);
  printf("linkage %d\n", h[0]);
  Account account(30), *on_device;
  cudaMalloc(&on_device, sizeof(Account));
  cudaMemcpy(on_device, &account, sizeof(Account), cudaMemcpyHostToDevice);
  audit<<<1, 1>>>(on_device, d);
  cudaMemcpy(h, d, 4, cudaMemcpyDeviceToHost);
  printf("friend %d\n", h[0]);
  late_template<float><<<1, 1>>>((float*)d, 3.25f);
  float f;
  cudaMemcpy(&f, d, 4, cudaMemcpyDeviceToHost);
  printf("late template %g\n", f);
  first::named<<<1, 1>>>(d);
  nested::named<<<1, 1>>>(d);
  cudaMemcpy(h, d, 8, cudaMemcpyDeviceToHost);
  printf("named %d %d\n", h[0], h[1]);
}

__global__ void forward(int* result, int count) { *result = helper(count); }
__global__ void defaulted(int* out, int a, int b) { *out = a * b; }
__device__ int helper(int x) { return 2 * x + 1; }
__global__ void linkage(int* out) { *out = 5; }
__global__ void audit(const Account* account, int* out) { *out = account->balance_; }
__device__ __forceinline__ float late(float x) { return x + x; }
template <typename T>
__global__ void late_template(T* out, T x) {
  *out = late(x);
}
namespace first {
__global__ void named(int* out) { out[0] = 1; }
}  // namespace first
