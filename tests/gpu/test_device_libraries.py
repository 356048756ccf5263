"""What a source may use of CUDA's headers on the device. Each test is one library, checked by results computed on the GPU."""

import pytest
from gpu_support import inline

torch = pytest.importorskip("torch")


def test_cooperative_groups_over_the_grid():
    lib = inline(r"""
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void kernel(const int* x, int* partial, int* sum, int n) {
      cg::grid_group grid = cg::this_grid();
      cg::thread_block block = cg::this_thread_block();
      auto tile = cg::tiled_partition<32>(block);
      int mine = 0;
      for (int i = grid.thread_rank(); i < n; i += grid.size()) mine += x[i];
      mine = cg::reduce(tile, mine, cg::plus<int>());
      if (tile.thread_rank() == 0) atomicAdd(&partial[blockIdx.x], mine);
      grid.sync();
      if (grid.thread_rank() == 0) for (int i = 0; i < gridDim.x; ++i) *sum += partial[i];
    }
    int run(const int* x, int* partial, int* sum, int n, cudaStream_t s) {
      void* arguments[] = {&x, &partial, &sum, &n};
      return int(cudaLaunchCooperativeKernel((const void*)kernel, dim3(64), dim3(128), arguments, 0, s));
    }
    """)
    x = torch.arange(20000, device="cuda", dtype=torch.int32)
    partial, total = (torch.zeros(n, device="cuda", dtype=torch.int32) for n in (64, 1))
    assert lib.run(x, partial, total, 20000) == 0
    assert total.item() == sum(range(20000))


def test_curand():
    lib = inline(r"""
    #include <curand_kernel.h>
    template <class State> __device__ void draw(float* y, int n, unsigned long long seed) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      State state;
      curand_init(seed, i, 0, &state);
      y[i] = curand_normal(&state);
    }
    __global__ void xorwow(float* y, int n) { draw<curandState>(y, n, 1); }
    __global__ void philox(float* y, int n) { draw<curandStatePhilox4_32_10_t>(y, n, 2); }
    __global__ void setup(curandState* states) { curand_init(9, threadIdx.x, 0, &states[threadIdx.x]); }
    __global__ void use(curandState* states, float* y) { y[threadIdx.x] = curand_uniform(&states[threadIdx.x]); }
    void run(float* x, float* y, int n, cudaStream_t s) {
      xorwow<<<(n + 255) / 256, 256, 0, s>>>(x, n);
      philox<<<(n + 255) / 256, 256, 0, s>>>(y, n);
    }
    void uniform(float* y, cudaStream_t s) {
      curandState* states;
      cudaMallocAsync(&states, 32 * sizeof(curandState), s);
      setup<<<1, 32, 0, s>>>(states);
      use<<<1, 32, 0, s>>>(states, y);
      cudaFreeAsync(states, s);
    }
    """)
    x, y, u = (torch.zeros(n, device="cuda") for n in (100000, 100000, 32))
    lib.run(x, y, 100000)
    lib.uniform(u)
    for values in (x, y):
        assert abs(values.mean().item()) < 0.02 and abs(values.std().item() - 1) < 0.02
    assert not torch.equal(x, y) and 0 < u.min().item() and u.max().item() <= 1 and u.unique().numel() == 32


def test_half_and_bfloat16():
    lib = inline(r"""
    #include <cuda_bf16.h>
    #include <cuda_fp16.h>
    __global__ void halves(const __half* x, const __half* y, __half* z, int n) {
      int i = threadIdx.x;
      if (2 * i < n) {
        __half2 a = reinterpret_cast<const __half2*>(x)[i], b = reinterpret_cast<const __half2*>(y)[i];
        reinterpret_cast<__half2*>(z)[i] = __hfma2(a, b, __float2half2_rn(1.0f));
      }
    }
    __global__ void brains(const __nv_bfloat16* x, __nv_bfloat16* z) {
      z[threadIdx.x] = __float2bfloat16(__bfloat162float(x[threadIdx.x]) * 2) + x[threadIdx.x];
    }
    void half_fma(const __half* x, const __half* y, __half* z, int n, cudaStream_t s) { halves<<<1, n / 2, 0, s>>>(x, y, z, n); }
    void brain(const __nv_bfloat16* x, __nv_bfloat16* z, int n, cudaStream_t s) { brains<<<1, n, 0, s>>>(x, z); }
    float on_the_host(float x) { return __half2float(__float2half(x)); }
    """)
    x, y = torch.randn(64, device="cuda").half(), torch.randn(64, device="cuda").half()
    z = torch.empty_like(x)
    lib.half_fma(x, y, z, 64)
    assert torch.allclose(z.float(), x.float() * y.float() + 1, rtol=2e-3, atol=2e-3)
    b = torch.arange(32, device="cuda").bfloat16()
    c = torch.empty_like(b)
    lib.brain(b, c, 32)
    assert torch.equal(c, b * 3)
    assert lib.on_the_host(0.1) == torch.tensor(0.1).half().item()


def test_cub_block_and_warp_primitives():
    lib = inline(r"""
    #include <cub/block/block_radix_sort.cuh>
    #include <cub/block/block_reduce.cuh>
    #include <cub/block/block_scan.cuh>
    #include <cub/warp/warp_reduce.cuh>
    __global__ void kernel(int* x, int* sum, int* scan, int* warps) {
      using Reduce = cub::BlockReduce<int, 256>;
      using Scan = cub::BlockScan<int, 256>;
      using Sort = cub::BlockRadixSort<int, 256, 1>;
      using Warp = cub::WarpReduce<int>;
      __shared__ union { Reduce::TempStorage reduce; Scan::TempStorage scan; Sort::TempStorage sort; Warp::TempStorage warp[8]; } storage;
      int mine = x[threadIdx.x];
      int total = Reduce(storage.reduce).Sum(mine);
      if (threadIdx.x == 0) *sum = total;
      __syncthreads();
      int before;
      Scan(storage.scan).ExclusiveSum(mine, before);
      scan[threadIdx.x] = before;
      __syncthreads();
      int least = Warp(storage.warp[threadIdx.x / 32]).Reduce(mine, [](int a, int b) { return a < b ? a : b; });
      if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = least;
      __syncthreads();
      int keys[1] = {mine};
      Sort(storage.sort).Sort(keys);
      x[threadIdx.x] = keys[0];
    }
    void run(int* x, int* sum, int* scan, int* warps, cudaStream_t s) { kernel<<<1, 256, 0, s>>>(x, sum, scan, warps); }
    """)
    x = torch.randperm(256, device="cuda").int()
    total, scan, warps = (torch.zeros(n, device="cuda", dtype=torch.int32) for n in (1, 256, 8))
    before = x.clone()
    lib.run(x, total, scan, warps)
    assert x.tolist() == list(range(256)) and total.item() == 256 * 255 // 2
    assert torch.equal(scan.long(), before.long().cumsum(0) - before)
    assert torch.equal(warps, before.view(8, 32).amin(1))


def test_libcudacxx():
    lib = inline(r"""
    #include <cuda/atomic>
    #include <cuda/std/array>
    #include <cuda/std/complex>
    #include <cuda/std/limits>
    #include <cuda/std/tuple>
    #include <cuda/std/type_traits>
    __global__ void kernel(int* count, float* most, float* parts) {
      cuda::atomic_ref<int, cuda::thread_scope_device> counter(*count);
      counter.fetch_add(2, cuda::memory_order_relaxed);
      cuda::atomic_ref<float, cuda::thread_scope_block>(*most).fetch_max(float(threadIdx.x));
      if (threadIdx.x) return;
      cuda::std::complex<float> z(1, 2);
      z *= z;
      cuda::std::array<int, 3> a = {4, 5, 6};
      auto t = cuda::std::make_tuple(7, 8.5f);
      parts[0] = z.real(), parts[1] = z.imag(), parts[2] = a[0] + a.back(), parts[3] = cuda::std::get<1>(t);
      parts[4] = cuda::std::numeric_limits<short>::max();
      static_assert(cuda::std::is_same_v<cuda::std::remove_const_t<const int>, int>);
    }
    void run(int* count, float* most, float* parts, cudaStream_t s) { kernel<<<4, 64, 0, s>>>(count, most, parts); }
    """)
    count = torch.zeros(1, device="cuda", dtype=torch.int32)
    most, parts = torch.zeros(1, device="cuda"), torch.zeros(5, device="cuda")
    lib.run(count, most, parts)
    assert count.item() == 512 and most.item() == 63 and parts.tolist() == [-3, 4, 10, 8.5, 32767]


def test_asynchronous_copies_and_barriers():
    lib = inline(r"""
    #include <cooperative_groups.h>
    #include <cooperative_groups/memcpy_async.h>
    #include <cuda/barrier>
    namespace cg = cooperative_groups;
    __global__ void kernel(const int* x, int* y) {
      __shared__ int buffer[128];
      __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
      auto block = cg::this_thread_block();
      if (block.thread_rank() == 0) init(&barrier, block.size());
      block.sync();
      cuda::memcpy_async(block, buffer, x, sizeof(buffer), barrier);
      barrier.arrive_and_wait();
      int mine = buffer[127 - threadIdx.x];
      block.sync();
      cg::memcpy_async(block, buffer, x + 128, sizeof(buffer));
      cg::wait(block);
      y[threadIdx.x] = mine + buffer[threadIdx.x];
    }
    void run(const int* x, int* y, cudaStream_t s) { kernel<<<1, 128, 0, s>>>(x, y); }
    """)
    x = torch.arange(256, device="cuda", dtype=torch.int32)
    y = torch.zeros(128, device="cuda", dtype=torch.int32)
    lib.run(x, y)
    assert y.tolist() == [127 - i + 128 + i for i in range(128)]


def test_double_precision_and_math_functions():
    lib = inline(r"""
    __global__ void kernel(const double* x, double* y) {
      double v = x[threadIdx.x];
      y[threadIdx.x] = sin(v) + exp(-v) + pow(v, 1.5) + erf(v) + log1p(v) + fmax(v, 1.0) + rsqrt(v + 1) + floor(v) + fma(v, v, 1.0);
    }
    void run(const double* x, double* y, int n, cudaStream_t s) { kernel<<<1, n, 0, s>>>(x, y); }
    """)
    x = torch.rand(200, device="cuda", dtype=torch.float64) * 5
    y = torch.empty_like(x)
    lib.run(x, y, 200)
    expected = (x.sin() + (-x).exp() + x**1.5 + x.erf() + x.log1p() + x.clamp(min=1) + (x + 1).rsqrt() + x.floor() + x * x + 1)
    assert torch.allclose(y, expected, rtol=1e-12)


def test_fast_math_and_line_info():
    text = """
    __global__ void kernel(const float* x, float* y) { y[threadIdx.x] = sinf(x[threadIdx.x]) / 3.0f; }
    void run(const float* x, float* y, int n, cudaStream_t s) { kernel<<<1, n, 0, s>>>(x, y); }
    """
    exact = inline(text, lineinfo=True)
    fast, debug = inline(text, fast_math=True), inline(text, debug=True, opt=0)
    x = torch.rand(100, device="cuda")
    y = torch.empty_like(x)
    for lib, tolerance in ((exact, 1e-6), (fast, 1e-4), (debug, 1e-6)):
        lib.run(x, y, 100)
        assert torch.allclose(y, x.sin() / 3, atol=tolerance)
    assert exact.cubins != fast.cubins
