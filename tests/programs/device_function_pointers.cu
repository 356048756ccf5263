// Pointers to __device__ functions: copied from symbols, in tables, as template arguments, as functors.
// expect: copied 9
// expect: table 5 1 6
// expect: argument 16
// expect: functor 13
#include <cstdio>

typedef float (*unary)(float);
typedef int (*binary_t)(int, int);

__device__ float square(float x) { return x * x; }
__device__ float twice(float x) { return 2 * x; }
__device__ unary d_square = square;

__device__ int plus_(int a, int b) { return a + b; }
__device__ int minus_(int a, int b) { return a - b; }
__device__ int times_(int a, int b) { return a * b; }
__device__ binary_t operations[3] = {plus_, minus_, times_};

__global__ void apply(unary f, float x, float* out) { *out = (*f)(x); }
__global__ void apply_all(int a, int b, int* out) { out[threadIdx.x] = operations[threadIdx.x](a, b); }

template <float (*F)(float)>
__global__ void apply_static(float x, float* out) {
  *out = F(F(x));
}

struct Affine {
  float a, b;
  __host__ __device__ Affine(float a_, float b_) : a(a_), b(b_) {}
  __host__ __device__ float operator()(float x) const { return a * x + b; }
};
template <typename F>
__global__ void apply_functor(F f, float x, float* out) {
  *out = f(x);
}

int main(void) {
  float *out, h;
  cudaMalloc((void**)&out, sizeof(float));
  unary f;
  cudaMemcpyFromSymbol(&f, d_square, sizeof(unary));
  apply<<<1, 1>>>(f, 3.0f, out);
  cudaMemcpy(&h, out, sizeof(float), cudaMemcpyDeviceToHost);
  printf("copied %g\n", h);
  int *values, hv[3];
  cudaMalloc((void**)&values, sizeof(hv));
  apply_all<<<1, 3>>>(3, 2, values);
  cudaMemcpy(hv, values, sizeof(hv), cudaMemcpyDeviceToHost);
  printf("table %d %d %d\n", hv[0], hv[1], hv[2]);
  apply_static<square><<<1, 1>>>(2.0f, out);
  cudaMemcpy(&h, out, sizeof(float), cudaMemcpyDeviceToHost);
  printf("argument %g\n", h);
  apply_functor<<<1, 1>>>(Affine(3, 1), 4.0f, out);
  cudaMemcpy(&h, out, sizeof(float), cudaMemcpyDeviceToHost);
  printf("functor %g\n", h);
  apply_static<twice><<<1, 1>>>(2.0f, out);
  return cudaDeviceSynchronize() != cudaSuccess;
}
