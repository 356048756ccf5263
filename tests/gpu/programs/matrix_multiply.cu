// Tiled matrix product: template over the tile, static and dynamic shared memory, pinned memory, streams.
#include <cstdio>
#include <vector>

template <typename T, int TILE>
__global__ void matmul(const T *__restrict__ a, const T *__restrict__ b, T *c, int n) {
  __shared__ T as[TILE][TILE + 1], bs[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
#pragma unroll 2
  for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
    as[threadIdx.y][threadIdx.x] = row < n && t * TILE + threadIdx.x < n ? a[row * n + t * TILE + threadIdx.x] : T(0);
    bs[threadIdx.y][threadIdx.x] = column < n && t * TILE + threadIdx.y < n ? b[(t * TILE + threadIdx.y) * n + column] : T(0);
    __syncthreads();
    for (int k = 0; k < TILE; ++k) sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

template <typename T>
__global__ void row_sums(const T *c, T *sums, int n) {
  extern __shared__ char memory[];
  T *partial = (T *)memory;
  partial[threadIdx.x] = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) partial[threadIdx.x] += c[blockIdx.x * n + i];
  for (int step = blockDim.x / 2; step > 0; step >>= 1) {
    __syncthreads();
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = partial[0];
}

template <typename T, int TILE>
void run(const char *name, int n) {
  T *a, *b, *c, *sums, *host;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMallocHost(&host, n * n * sizeof(T));
  for (int i = 0; i < n * n; ++i) host[i] = T((i * 7919) % 13) - T(6);
  for (T **p : {&a, &b, &c}) cudaMalloc(p, n * n * sizeof(T));
  cudaMalloc(&sums, n * sizeof(T));
  cudaMemcpyAsync(a, host, n * n * sizeof(T), cudaMemcpyHostToDevice, stream);
  cudaMemcpyAsync(b, a, n * n * sizeof(T), cudaMemcpyDeviceToDevice, stream);
  dim3 block(TILE, TILE), grid((n + TILE - 1) / TILE, (n + TILE - 1) / TILE);
  matmul<T, TILE><<<grid, block, 0, stream>>>(a, b, c, n);
  row_sums<<<n, 128, 128 * sizeof(T), stream>>>(c, sums, n);
  std::vector<T> result(n);
  cudaMemcpyAsync(result.data(), sums, n * sizeof(T), cudaMemcpyDeviceToHost, stream);
  cudaError_t status = cudaStreamSynchronize(stream);
  double total = 0;
  for (T x : result) total += double(x);
  printf("%s, tile %d: %s, first %.1f, last %.1f, total %.1f\n", name, TILE, cudaGetErrorString(status), double(result[0]), double(result[n - 1]), total);
  for (void *p : {(void *)a, (void *)b, (void *)c, (void *)sums}) cudaFree(p);
  cudaFreeHost(host);
  cudaStreamDestroy(stream);
}

int main() {
  run<float, 16>("float", 200);
  run<float, 32>("float", 257);
  run<double, 16>("double", 129);
  run<int, 8>("int", 65);
  return 0;
}
