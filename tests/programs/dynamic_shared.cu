// extern __shared__ in its published forms: one array cast to several types, arrays of each template's type.
// expect: int 496 float 496 double 496
// expect: mixed 36 8
// expect: large ok
#include <cstdio>
#include <cuda_runtime.h>

template <typename T>
struct SharedMemory {
  __device__ T* getPointer() {
    extern __device__ void error(void);
    error();
    return nullptr;
  }
};
template <>
struct SharedMemory<int> {
  __device__ int* getPointer() {
    extern __shared__ int s_int[];
    return s_int;
  }
};
template <>
struct SharedMemory<float> {
  __device__ float* getPointer() {
    extern __shared__ float s_float[];
    return s_float;
  }
};
template <>
struct SharedMemory<double> {
  __device__ double* getPointer() {
    extern __shared__ double s_double[];
    return s_double;
  }
};

template <class T, int BLOCK>
__global__ void sum(const T* in, T* out) {
  SharedMemory<T> smem;
  T* s = smem.getPointer();
  const unsigned tid = threadIdx.x;
  s[tid] = in[tid];
  __syncthreads();
  for (unsigned int k = BLOCK / 2; k > 0; k >>= 1) {
    if (tid < k) s[tid] += s[tid + k];
    __syncthreads();
  }
  if (tid == 0) *out = s[0];
}

extern __shared__ unsigned char pool[];

__global__ void mixed(int* out) {
  float* a = (float*)pool;
  short* b = reinterpret_cast<short*>(a + blockDim.x);
  a[threadIdx.x] = threadIdx.x + 1.0f;
  b[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    float x = 0;
    int y = 0;
    for (int i = 0; i < blockDim.x; i++) x += a[i], y += b[i];
    out[0] = (int)x;
    out[1] = y;
  }
}

template <size_t Bytes>
__global__ void large(int* ok) {
  extern __shared__ __align__(16) char block[];
  __shared__ int seen;
  if (threadIdx.x == 0) seen = 0;
  __syncthreads();
  for (size_t i = threadIdx.x; i < Bytes; i += blockDim.x) block[i] = (char)i;
  __syncthreads();
  if (block[Bytes - 1 - threadIdx.x] == (char)(Bytes - 1 - threadIdx.x)) atomicAdd(&seen, 1);
  __syncthreads();
  if (threadIdx.x == 0) *ok = seen == (int)blockDim.x;
}

template <typename T>
T run() {
  const int n = 32;
  T h[n], result;
  for (int i = 0; i < n; ++i) h[i] = static_cast<T>(i);
  T *in, *out;
  cudaMalloc(&in, sizeof(h));
  cudaMalloc(&out, sizeof(T));
  cudaMemcpy(in, h, sizeof(h), cudaMemcpyHostToDevice);
  sum<T, n><<<1, n, n * sizeof(T)>>>(in, out);
  cudaMemcpy(&result, out, sizeof(T), cudaMemcpyDeviceToHost);
  cudaFree(in);
  cudaFree(out);
  return result;
}

int main() {
  printf("int %d float %g double %g\n", run<int>(), run<float>(), run<double>());
  int *d, h[2];
  cudaMalloc(&d, sizeof h);
  mixed<<<1, 8, 8 * (sizeof(float) + sizeof(short))>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("mixed %d %d\n", h[0], h[1]);
  constexpr size_t bytes = 64 * 1024;
  cudaFuncSetAttribute(large<bytes>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  large<bytes><<<1, 128, bytes>>>(d);
  cudaMemcpy(h, d, sizeof(int), cudaMemcpyDeviceToHost);
  printf("large %s\n", h[0] ? "ok" : cudaGetErrorString(cudaGetLastError()));
}
