// expect: kernel sums<float>, kernel sort_block, kernel warps
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
template <class T>
__global__ void sums(const T *in, T *out, int n) {
  typedef cub::BlockReduce<T, 128> Reduce;
  typedef cub::BlockScan<T, 128, cub::BLOCK_SCAN_RAKING> Scan;
  __shared__ union { typename Reduce::TempStorage reduce; typename Scan::TempStorage scan; } temp;
  T v = threadIdx.x < n ? in[threadIdx.x] : T(0);
  T total = Reduce(temp.reduce).Sum(v);
  __syncthreads();
  T prefix;
  Scan(temp.scan).ExclusiveSum(v, prefix);
  out[threadIdx.x] = prefix + total;
}
__global__ void sort_block(int *keys) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_TRANSPOSE>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  __shared__ union { Load::TempStorage load; Store::TempStorage store; Sort::TempStorage sort; } temp;
  int items[4];
  Load(temp.load).Load(keys + blockIdx.x * 512, items);
  __syncthreads();
  Sort(temp.sort).Sort(items);
  __syncthreads();
  Store(temp.store).Store(keys + blockIdx.x * 512, items);
}
__global__ void warps(float *x) {
  __shared__ cub::WarpReduce<float>::TempStorage reduce[4];
  __shared__ cub::WarpScan<float>::TempStorage scan[4];
  float v = x[threadIdx.x], s = cub::WarpReduce<float>(reduce[threadIdx.x / 32]).Sum(v), p;
  cub::WarpScan<float>(scan[threadIdx.x / 32]).InclusiveSum(v, p);
  x[threadIdx.x] = s + p;
}
