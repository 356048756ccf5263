// expect: kernel total
#include <cub/cub.cuh>
#include <cstdint>
__global__ void total(const int64_t *in, int64_t *out) {
  using Reduce = cub::BlockReduce<int64_t, 256>;
  __shared__ Reduce::TempStorage temp;
  int64_t sum = Reduce(temp).Sum(in[threadIdx.x]);
  if (threadIdx.x == 0) *out = sum;
}
