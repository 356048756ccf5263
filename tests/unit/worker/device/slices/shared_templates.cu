// expect: kernel reduce<float>, kernel reduce<double>, kernel sum_sq
template <class T>
struct SharedMemory {
  __device__ inline operator T *() {
    extern __shared__ int raw[];
    return (T *)raw;
  }
};
template <>
struct SharedMemory<double> {
  __device__ inline operator double *() {
    extern __shared__ double raw_d[];
    return (double *)raw_d;
  }
};
template <class T, unsigned int block_size, bool is_pow2>
__device__ void reduce_body(T *in, T *out, unsigned int n) {
  T *s = SharedMemory<T>();
  unsigned int tid = threadIdx.x, i = blockIdx.x * block_size * 2 + tid, stride = block_size * 2 * gridDim.x;
  T sum = 0;
  while (i < n) {
    sum += in[i];
    if (is_pow2 || i + block_size < n) sum += in[i + block_size];
    i += stride;
  }
  s[tid] = sum;
  __syncthreads();
  if (block_size >= 512 && tid < 256) s[tid] = sum = sum + s[tid + 256];
  __syncthreads();
#pragma unroll
  for (int offset = warpSize / 2; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (tid == 0) out[blockIdx.x] = sum;
}
template <class T>
__global__ void reduce(T *__restrict__ in, T *__restrict__ out, unsigned int n) {
  reduce_body<T, 256, true>(in, out, n);
}
__global__ void __launch_bounds__(256, 4) sum_sq(const float *__restrict__ x, float *out, int n) {
  extern __shared__ float cache[];
  float v = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i] * x[i];
  cache[threadIdx.x] = v;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) cache[threadIdx.x] += cache[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, cache[0]);
}
