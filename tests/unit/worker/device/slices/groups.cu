// expect: kernel grid_sum, kernel clusters, kernel tiles<16>, kernel copies
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <algorithm>
#include <random>
namespace cg = cooperative_groups;
__global__ void grid_sum(float *x, float *out, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> warp = cg::tiled_partition<32>(block);
  float v = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size()) v += x[i];
  v = cg::reduce(warp, v, cg::plus<float>());
  if (warp.thread_rank() == 0) atomicAdd(out, v);
  cg::sync(grid);
  cg::coalesced_group active = cg::coalesced_threads();
  if (grid.thread_rank() == 0) out[1] = out[0] * active.size() + cg::reduce(active, 3, cg::greater<int>());
}
__global__ void __cluster_dims__(2, 1, 1) clusters(int *out) {
  extern __shared__ int s[];
  cg::cluster_group cluster = cg::this_cluster();
  int *peer = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  cluster.sync();
  peer[threadIdx.x] = cluster.num_blocks();
  cluster.sync();
  out[threadIdx.x] = s[threadIdx.x];
}
template <int size>
__global__ void tiles(int *out) {
  auto tile = cg::tiled_partition<size>(cg::this_thread_block());
  int scan = cg::exclusive_scan(tile, (int)tile.thread_rank());
  auto half = cg::binary_partition(tile, tile.thread_rank() & 1);
  out[threadIdx.x] = scan + half.size() + tile.shfl_xor(scan, 1) + tile.any(scan) + tile.meta_group_rank();
}
__global__ void copies(const float *g, float *out) {
  __shared__ float s[128];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, g, sizeof(float) * 128);
  cg::wait(block);
  out[threadIdx.x] = s[127 - threadIdx.x];
}
