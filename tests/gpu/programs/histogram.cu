// Histograms by atomics in shared and global memory, with a table in constant memory and a template over the bins.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

static const int BINS = 64;
__constant__ unsigned char table[256];
__device__ unsigned int overflowed;

namespace {
__device__ __forceinline__ int bin_of(unsigned char c) { return table[c] % BINS; }
}  // namespace

template <int N>
static __global__ void histogram_shared(const unsigned char *data, size_t n, unsigned int *bins) {
  __shared__ unsigned int local[N];
  for (int i = threadIdx.x; i < N; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) {
    int bin = bin_of(data[i]);
    if (bin >= N) atomicInc(&overflowed, 0xffffffffu);
    else atomicAdd(&local[bin], 1u);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < N; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

static __global__ void histogram_global(const unsigned char *data, size_t n, unsigned int *bins) {
  size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(bins + bin_of(data[i]), 1u);
}

int main(void) {
  std::vector<unsigned char> data(1 << 20);
  unsigned int seed = 12345;
  for (auto &c : data) c = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
  unsigned char host_table[256];
  for (int i = 0; i < 256; ++i) host_table[i] = (unsigned char)(i * 5 + 3);
  cudaMemcpyToSymbol(table, host_table, sizeof(host_table));
  unsigned char *d_data;
  unsigned int *d_bins;
  cudaMalloc(&d_data, data.size());
  cudaMalloc(&d_bins, 3 * BINS * sizeof(unsigned int));
  cudaMemset(d_bins, 0, 3 * BINS * sizeof(unsigned int));
  cudaMemcpy(d_data, data.data(), data.size(), cudaMemcpyHostToDevice);
  histogram_shared<BINS><<<32, 256>>>(d_data, data.size(), d_bins);
  histogram_shared<BINS / 2><<<32, 256>>>(d_data, data.size(), d_bins + BINS);
  histogram_global<<<(unsigned)(data.size() / 256), 256>>>(d_data, data.size(), d_bins + 2 * BINS);
  std::vector<unsigned int> bins(3 * BINS);
  cudaMemcpy(bins.data(), d_bins, bins.size() * sizeof(bins[0]), cudaMemcpyDeviceToHost);
  unsigned int out = 0;
  cudaMemcpyFromSymbol(&out, overflowed, sizeof(out));
  printf("same: %s\n", memcmp(&bins[0], &bins[2 * BINS], BINS * sizeof(bins[0])) == 0 ? "yes" : "no");
  for (int i = 0; i < 8; ++i) printf("%u%c", bins[i], i == 7 ? '\n' : ' ');
  printf("%u counted, %u of them beyond the half\n", std::accumulate(bins.begin() + BINS, bins.begin() + 2 * BINS, 0u) + out, out);
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  cudaFree(d_data);
  cudaFree(d_bins);
  return out == 0;
}
