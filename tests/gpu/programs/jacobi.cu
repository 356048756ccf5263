// Heat in a plate: a cooperative kernel that synchronises its grid, with unified memory and a reduction by a tile.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cstdio>
#include <utility>

namespace cg = cooperative_groups;

__managed__ double change;
__device__ __managed__ int steps_done = 0;

__global__ void jacobi(double *now, double *next, int n, int steps) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  for (int step = 0; step < steps; ++step) {
    double mine = 0;
    for (unsigned long long i = grid.thread_rank(); i < (unsigned long long)n * n; i += grid.size()) {
      int row = i / n, column = i % n;
      if (row == 0 || row == n - 1 || column == 0 || column == n - 1) {
        next[i] = now[i];
        continue;
      }
      double value = 0.25 * (now[i - 1] + now[i + 1] + now[i - n] + now[i + n]);
      mine = fmax(mine, fabs(value - now[i]));
      next[i] = value;
    }
    mine = cg::reduce(tile, mine, cg::greater<double>());
    if (step == steps - 1 && tile.thread_rank() == 0)
      atomicMax((unsigned long long *)&change, (unsigned long long)__double_as_longlong(mine));
    grid.sync();
    double *swap = now;
    now = next;
    next = swap;
    if (grid.thread_rank() == 0) ++steps_done;
  }
}

int main() {
  const int n = 128, steps = 200;
  double *a, *b;
  cudaMallocManaged(&a, n * n * sizeof(double));
  cudaMallocManaged(&b, n * n * sizeof(double));
  for (int i = 0; i < n * n; ++i) a[i] = b[i] = i < n ? 100.0 : 0.0;
  change = 0;
  int blocks = 0, size = n, count = steps;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, jacobi, 256, 0);
  printf("fits: %s\n", blocks > 0 ? "yes" : "no");
  void *arguments[] = {&a, &b, &size, &count};
  cudaError_t status = cudaLaunchCooperativeKernel((void *)jacobi, dim3(32), dim3(256), arguments);
  printf("launched: %s\n", cudaGetErrorName(status));
  printf("finished: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  double *result = steps % 2 ? b : a;
  printf("after %d steps: %.12f %.12f %.12f, last change %.12f\n", steps_done, result[n + n / 2], result[10 * n + 10], result[n * n / 2 + n / 2], change);
  cudaFree(a);
  cudaFree(b);
  return 0;
}
