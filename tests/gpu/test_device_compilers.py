"""Device code by Clang: what NVRTC cannot compile runs, and what both compile gives the same results."""

import numpy as np
import pytest
from gpu_support import inline, run_python

torch = pytest.importorskip("torch")


def clang(source, **options):
    lib = inline(source, device_compiler="clang", **options)
    assert all(text.startswith("clang: ") for text in lib.device_compilers.values())
    return lib


def cuda(values, dtype=torch.float32):
    return torch.tensor(np.asarray(values), device="cuda", dtype=dtype)


def test_thrust_sorts_transforms_and_reduces():
    lib = clang(r"""
    #include <thrust/device_ptr.h>
    #include <thrust/sort.h>
    #include <thrust/reduce.h>
    #include <thrust/transform.h>
    struct Twice { __host__ __device__ int operator()(int x) const { return 2 * x; } };
    int run(int* p, int n) {
      thrust::device_ptr<int> d(p);
      thrust::sort(d, d + n);
      thrust::transform(d, d + n, d, Twice());
      return thrust::reduce(d, d + n);
    }
    """)
    x = torch.randperm(100000, device="cuda", dtype=torch.int32)
    assert lib.run(x, x.numel()) == 2 * sum(range(100000)) % 2**32 - 2**32 * (2 * sum(range(100000)) % 2**32 >= 2**31)
    assert torch.equal(x, 2 * torch.arange(100000, device="cuda", dtype=torch.int32))


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_atomic_functions_with_an_order_and_a_scope(compiler):
    lib = inline(r"""
    __global__ void all(int* x, int* sum) {
      const int one = x[blockIdx.x * blockDim.x + threadIdx.x];
      __nv_atomic_fetch_add(sum, one, __NV_ATOMIC_RELAXED);
      __nv_atomic_fetch_add(sum + 1, one, __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE);
      __nv_atomic_fetch_max(sum + 2, one, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
      __nv_atomic_fetch_min(sum + 3, one, __NV_ATOMIC_SEQ_CST);
      int old = __nv_atomic_load_n(sum + 4, __NV_ATOMIC_RELAXED);
      while (!__nv_atomic_compare_exchange_n(sum + 4, &old, old + one, true, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED)) { }
    }
    void run(int* x, int* sum, int n) { all<<<n / 128, 128>>>(x, sum); }
    """, device_compiler=compiler)
    x = torch.randint(-1000, 1000, (1 << 15,), device="cuda", dtype=torch.int32)
    sums = torch.zeros(5, device="cuda", dtype=torch.int32)
    lib.run(x, sums, x.numel())
    total = x.sum().int()
    assert torch.equal(sums, torch.stack([total, total, x.max(), x.min(), total]))


def test_device_vectors_and_a_lambda():
    lib = clang(r"""
    #include <thrust/device_vector.h>
    #include <thrust/host_vector.h>
    #include <thrust/transform.h>
    #include <thrust/sequence.h>
    int run(int n, int a) {
      thrust::device_vector<int> d(n);
      thrust::sequence(d.begin(), d.end());
      thrust::transform(d.begin(), d.end(), d.begin(), [=] __device__ (int x) { return x * a; });
      thrust::host_vector<int> h = d;
      int sum = 0;
      for (int x : h) sum += x;
      return sum;
    }
    """)
    assert lib.run(100, 3) == 3 * 4950


def test_nvrtc_and_clang_each_compile_a_part():
    lib = inline(r"""
    #include <thrust/device_ptr.h>
    #include <thrust/fill.h>
    #include <thrust/reduce.h>
    __device__ float g_step = 2;
    template <class T> __global__ void add(T* x, T a) { x[threadIdx.x] += a * g_step; }
    float run(float* x, float a, cudaStream_t s) {
      thrust::device_ptr<float> d(x);
      thrust::fill(d, d + 32, 1.f);
      add<<<1, 32, 0, s>>>(x, a);
      cudaStreamSynchronize(s);
      return thrust::reduce(d, d + 32);
    }
    """)
    assert [text.split(":")[0] for text in lib.device_compilers.values()] == ["nvrtc", "clang"]
    x = torch.zeros(32, device="cuda")
    assert lib.run(x, 3.0) == 32 * 7 and torch.equal(x, torch.full_like(x, 7))


def test_an_algorithm_and_a_kernel_share_a_variable():
    lib = inline(r"""
    #include <thrust/device_ptr.h>
    #include <thrust/transform.h>
    __device__ int g_calls;
    struct Count { __device__ int operator()(int v) const { atomicAdd(&g_calls, 1); return v + 1; } };
    __global__ void own(int* x) { atomicAdd(&g_calls, 100); x[0] += 1; }
    int run(int* x, int n) {
      thrust::device_ptr<int> d(x);
      thrust::transform(d, d + n, d, Count());
      own<<<1, 1>>>(x);
      int calls = 0;
      cudaMemcpyFromSymbol(&calls, g_calls, sizeof calls);
      return calls;
    }
    """)
    x = torch.zeros(1000, device="cuda", dtype=torch.int32)
    assert lib.run(x, 1000) == 1100 and x.sum().item() == 1001

def test_cub_device_reduce():
    lib = clang(r"""
    #include <cub/device/device_reduce.cuh>
    int run(const float* x, float* y, int n, cudaStream_t s) {
      size_t bytes = 0;
      cub::DeviceReduce::Sum(nullptr, bytes, x, y, n, s);
      void* memory = nullptr;
      if (cudaMallocAsync(&memory, bytes, s)) return 1;
      const cudaError_t error = cub::DeviceReduce::Sum(memory, bytes, x, y, n, s);
      cudaFreeAsync(memory, s);
      return error;
    }
    """)
    x, y = torch.ones(12345, device="cuda"), torch.zeros(1, device="cuda")
    assert lib.run(x, y, x.numel()) == 0 and y.item() == 12345


def test_an_extended_lambda():
    lib = inline(r"""
    template <class F> __global__ void each(float* x, int n, F f) { int i = threadIdx.x; if (i < n) x[i] = f(x[i]); }
    void run(float* x, float a, int n, cudaStream_t s) {
      each<<<1, n, 0, s>>>(x, n, [=] __device__ (float v) { return v * a; });
      each<<<1, n, 0, s>>>(x, n, [=] __host__ __device__ (float v) { return v + a; });
    }
    """)
    x = torch.arange(32.0, device="cuda")
    lib.run(x, 3.0, 32)
    assert torch.equal(x, torch.arange(32.0, device="cuda") * 3 + 3)


def test_local_hidden_and_unnamed_types():
    lib = inline(r"""
    template <class T> __global__ void fill(float* x, T make) { x[threadIdx.x] = make(threadIdx.x); }
    void local(float* x, cudaStream_t s) {
      struct Ramp { float step; __device__ float operator()(int i) const { return i * step; } };
      fill<<<1, 32, 0, s>>>(x, Ramp{0.5f});
    }
    void other(float* x, cudaStream_t s) {
      struct Ramp { __device__ float operator()(int i) const { return 100 + i; } };
      fill<<<1, 32, 0, s>>>(x, Ramp{});
    }
    namespace { struct Hidden { __device__ float operator()(int i) const { return -i; } }; }
    void hidden(float* x, cudaStream_t s) { fill<<<1, 32, 0, s>>>(x, Hidden{}); }
    struct { __device__ float operator()(int i) const { return 7; } } g_unnamed;
    void unnamed(float* x, cudaStream_t s) { fill<<<1, 32, 0, s>>>(x, g_unnamed); }
    """, device_compiler="clang")
    x = torch.zeros(32, device="cuda")
    ramp = torch.arange(32.0, device="cuda")
    for function, expected in ((lib.local, 0.5 * ramp), (lib.other, 100 + ramp), (lib.hidden, -ramp), (lib.unnamed, 0 * ramp + 7)):
        function(x)
        assert torch.equal(x, expected)


def test_static_and_hidden_kernels():
    lib = clang(r"""
    static __global__ void one(int* x) { *x += 1; }
    namespace { __global__ void two(int* x) { *x += 10; } template <class T> __global__ void three(T* x) { *x += 100; } }
    void run(int* x, cudaStream_t s) { one<<<1, 1, 0, s>>>(x); two<<<1, 1, 0, s>>>(x); three<<<1, 1, 0, s>>>(x); }
    """)
    x = cuda([0], torch.int32)
    lib.run(x)
    assert x.item() == 111


PRINTS = r"""
#include <cstdio>
__global__ void hello(float x) { printf("%d %.2f %s\n", int(threadIdx.x), x, "hello"); }
int run() { hello<<<1, 2>>>(1.5f); return cudaDeviceSynchronize(); }
"""


def test_printf():
    clang(PRINTS)
    printed = run_python("import sys, tarsia; assert tarsia.load_inline(sys.argv[1], device_compiler='clang').run() == 0", PRINTS)
    assert sorted(printed.split("\n")) == ["", "0 1.50 hello", "1 1.50 hello"]


def test_variables_seen_from_the_host():
    lib = clang(r"""
    __constant__ float table[4];
    __device__ int counter = 5;
    static __device__ float hidden[2];
    __managed__ int shared = 3;
    __global__ void k(float* x) { x[0] = table[1] + hidden[1] + shared; atomicAdd(&counter, 2); shared = 8; }
    int run(float* x) {
      float values[4] = {1, 2, 3, 4}, more[2] = {10, 20};
      if (cudaMemcpyToSymbol(table, values, sizeof values)) return -1;
      if (cudaMemcpyToSymbol(hidden, more, sizeof more)) return -2;
      shared = 100;
      k<<<1, 1>>>(x);
      if (cudaDeviceSynchronize()) return -3;
      int n = 0;
      if (cudaMemcpyFromSymbol(&n, counter, sizeof n)) return -4;
      return 10 * n + shared;
    }
    """)
    x = torch.zeros(1, device="cuda")
    assert lib.run(x) == 78 and x.item() == 122


def test_dynamic_and_static_shared_memory():
    lib = clang(r"""
    __global__ void reverse(float* x) {
      extern __shared__ float values[];
      __shared__ float first;
      values[threadIdx.x] = x[threadIdx.x];
      if (threadIdx.x == 0) first = x[0];
      __syncthreads();
      x[threadIdx.x] = values[blockDim.x - 1 - threadIdx.x] + first;
    }
    void run(float* x, int n, cudaStream_t s) { reverse<<<1, n, n * sizeof(float), s>>>(x); }
    """)
    x = torch.arange(1.0, 257, device="cuda")
    lib.run(x, 256)
    assert torch.equal(x, torch.arange(256.0, 0, -1, device="cuda") + 1)


FUNCTIONS = {"sinf": np.sin, "cosf": np.cos, "tanf": np.tan, "expf": np.exp, "logf": np.log, "sqrtf": np.sqrt, "rsqrtf": lambda x: 1 / np.sqrt(x),
             "erff": None, "tgammaf": None, "powf": None, "__expf": np.exp, "__sinf": np.sin, "__logf": np.log, "floorf": np.floor,
             "log1pf": np.log1p, "cbrtf": np.cbrt, "atanf": np.arctan, "tanhf": np.tanh, "fabsf": np.abs, "rintf": np.rint}


def test_math_functions():
    scipy = pytest.importorskip("scipy.special")
    known = {**FUNCTIONS, "erff": scipy.erf, "tgammaf": scipy.gamma, "powf": lambda x: np.power(x, 1.5)}
    calls = "\n".join(f"y[{i} * n + j] = {name}(x[j]{', 1.5f' if name == 'powf' else ''});" for i, name in enumerate(known))
    lib = clang(f"""
    __global__ void k(const float* x, float* y, int n) {{ int j = threadIdx.x; if (j >= n) return; {calls} }}
    __global__ void d(const double* x, double* y, int n) {{ int j = threadIdx.x; if (j < n) y[j] = sin(x[j]) + exp(x[j]) * fma(x[j], 2.0, 1.0); }}
    void run(const float* x, float* y, int n, cudaStream_t s) {{ k<<<1, n, 0, s>>>(x, y, n); }}
    void run_double(const double* x, double* y, int n, cudaStream_t s) {{ d<<<1, n, 0, s>>>(x, y, n); }}
    """)
    values = np.linspace(0.1, 3.0, 64)
    y = torch.zeros(len(known), 64, device="cuda")
    lib.run(cuda(values), y, 64)
    for i, (name, function) in enumerate(known.items()):
        tolerance = 1e-4 if name.startswith("__") else 1e-5
        np.testing.assert_allclose(y[i].cpu().numpy(), function(values.astype(np.float32).astype(np.float64)), rtol=tolerance, atol=tolerance, err_msg=name)
    z = torch.zeros(64, device="cuda", dtype=torch.float64)
    lib.run_double(cuda(values, torch.float64), z, 64)
    np.testing.assert_allclose(z.cpu().numpy(), np.sin(values) + np.exp(values) * (2 * values + 1), rtol=1e-14)


def test_atomics_and_shuffles():
    lib = clang(r"""
    __global__ void k(const int* x, int* sums, float* f, unsigned long long* u, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      int v = i < n ? x[i] : 0;
      for (int d = 16; d; d /= 2) v += __shfl_xor_sync(~0u, v, d);
      if (threadIdx.x % 32 == 0) atomicAdd(&sums[0], v);
      if (i < n) { atomicMax(&sums[1], x[i]); atomicAdd(f, 0.5f); atomicAdd(u, 1ull); atomicCAS(&sums[2], 0, 42); }
      if (i == 0) sums[3] = __popc(__ballot_sync(1, 1)) + __ffs(8) + __clz(1);
    }
    void run(const int* x, int* sums, float* f, unsigned long long* u, int n, cudaStream_t s) { k<<<(n + 255) / 256, 256, 0, s>>>(x, sums, f, u, n); }
    """)
    n = 10000
    x = torch.arange(n, device="cuda", dtype=torch.int32)
    sums, f, u = cuda([0] * 4, torch.int32), torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.uint64)
    lib.run(x, sums, f, u, n)
    assert sums.tolist() == [n * (n - 1) // 2, n - 1, 42, 1 + 4 + 31]
    assert f.item() == n / 2 and u.cpu().item() == n


def test_halves_and_bfloats():
    lib = clang(r"""
    #include <cuda_fp16.h>
    #include <cuda_bf16.h>
    __global__ void k(__half* h, __nv_bfloat16* b, float* f) {
      int i = threadIdx.x;
      h[i] = __hfma(h[i], __float2half(2.f), __float2half(1.f)) + __half(1);
      b[i] = __hadd(b[i], __float2bfloat16(0.5f)) * __nv_bfloat16(2.f);
      f[i] = __half2float(hexp(__float2half(0.f))) + __bfloat162float(b[i]);
      __half2 two = __halves2half2(h[i], h[i]);
      f[i] += __low2float(__hmul2(two, two)) - __high2float(__hmul2(two, two));
    }
    void run(__half* h, __nv_bfloat16* b, float* f, int n, cudaStream_t s) { k<<<1, n, 0, s>>>(h, b, f); }
    """)
    h, b, f = torch.arange(32.0, device="cuda").half(), torch.arange(32.0, device="cuda").bfloat16(), torch.zeros(32, device="cuda")
    ramp = torch.arange(32.0, device="cuda")
    lib.run(h, b, f, 32)
    assert torch.equal(h.float(), 2 * ramp + 2) and torch.equal(b.float(), 2 * (ramp + 0.5)) and torch.equal(f, 1 + 2 * (ramp + 0.5))


def test_cooperative_groups():
    lib = clang(r"""
    #include <cooperative_groups.h>
    #include <cooperative_groups/reduce.h>
    namespace cg = cooperative_groups;
    __global__ void k(const int* x, int* y) {
      auto block = cg::this_thread_block();
      auto warp = cg::tiled_partition<32>(block);
      const int sum = cg::reduce(warp, x[block.thread_rank()], cg::plus<int>());
      block.sync();
      if (warp.thread_rank() == 0) y[warp.meta_group_rank()] = sum;
      auto four = cg::tiled_partition<4>(warp);
      y[4 + block.thread_rank()] = four.shfl(x[block.thread_rank()], 0);
    }
    void run(const int* x, int* y, cudaStream_t s) { k<<<1, 128, 0, s>>>(x, y); }
    """)
    x, y = torch.arange(128, device="cuda", dtype=torch.int32), torch.zeros(132, device="cuda", dtype=torch.int32)
    lib.run(x, y)
    assert torch.equal(y[:4], x.view(4, 32).sum(1).int()) and torch.equal(y[4:], x // 4 * 4)


def test_block_primitives_and_libcu():
    lib = clang(r"""
    #include <cub/block/block_reduce.cuh>
    #include <cuda/std/tuple>
    __global__ void k(const float* x, float* y) {
      using Reduce = cub::BlockReduce<float, 128>;
      __shared__ typename Reduce::TempStorage memory;
      const float sum = Reduce(memory).Sum(x[threadIdx.x]);
      auto [a, b] = cuda::std::make_tuple(sum, 1.f);
      if (threadIdx.x == 0) *y = a + b;
    }
    void run(const float* x, float* y, cudaStream_t s) { k<<<1, 128, 0, s>>>(x, y); }
    """)
    x, y = torch.arange(128.0, device="cuda"), torch.zeros(1, device="cuda")
    lib.run(x, y)
    assert y.item() == 127 * 64 + 1


def test_instantiations_at_run_time():
    lib = clang(r"""
    template <class T> __global__ void twice(T* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }
    """)
    x = torch.arange(10.0, device="cuda", dtype=torch.float64)
    lib.twice["double"][1, 32](x, 10)
    assert torch.equal(x, 2 * torch.arange(10.0, device="cuda", dtype=torch.float64))


def test_ptx_of_an_older_architecture_is_compiled_by_the_driver():
    lib = clang("""
    __global__ void k(float* x) { x[threadIdx.x] = expf(x[threadIdx.x]); }
    void run(float* x, int n, cudaStream_t s) { k<<<1, n, 0, s>>>(x); }
    """, arch="sm_75", ptx=True)
    x = torch.zeros(32, device="cuda")
    lib.run(x, 32)
    assert torch.equal(x, torch.ones(32, device="cuda"))


def test_limits_of_registers_hold():
    lib = clang("""
    __global__ void k(float* x) { float v[40]; for (int i = 0; i < 40; ++i) v[i] = x[i]; for (int i = 0; i < 40; ++i) x[i] = v[39 - i]; }
    int registers() { cudaFuncAttributes a; return cudaFuncGetAttributes(&a, k) ? -1 : a.numRegs; }
    """, maxrregcount=32)
    assert 0 < lib.registers() <= 32


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_gnu_spellings_mean_what_they_mean_on_the_host(compiler):
    """One function for both sides, and one kernel with inline assembly by GNU's words."""
    source = r"""
    static __inline__ __host__ __device__ void fill(long long* y) {
      __const int one = 1;
      __volatile__ int two = 2;
      __signed__ char negative = -3;
      unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
      __UINT64_TYPE__ wide;
      __builtin_memcpy(&wide, bytes, 8);
      _Static_assert(__CHAR_BIT__ == 8 && __SIZEOF_LONG__ == sizeof(long), "sizes");
      y[0] = one + two + negative + __alignof__(double);
      y[1] = __INT_MAX__;
      y[2] = __LONG_MAX__;
      y[3] = (long long)(__DBL_EPSILON__ * 4503599627370496.0 * 3) + (long long)(1 / __FLT_EPSILON__);
      y[4] = (long long)wide;
      y[5] = __builtin_bswap32((unsigned)wide) + __builtin_bswap16((unsigned short)wide);
      y[6] = (long long)__builtin_bswap64(wide);
      __builtin_memset(bytes, 7, 3);
      y[7] = bytes[2] * 100 + bytes[3];
      y[8] = __extension__ (__INT16_MAX__ + __UINT8_MAX__);
      y[9] = (long long*)__null == y;
    #if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ || !defined(__linux__)
      y[10] = 1;
    #else
      y[10] = (__GNUC__ >= 4) * 100 + __x86_64__ + __SIZEOF_INT128__ * 1000;
    #endif
    }
    __global__ void kernel(long long* y, int* lanes) {
      int lane;
      __asm__ __volatile__("mov.u32 %0, %%laneid;" : "=r"(lane));
      lanes[threadIdx.x] = lane;
      if (threadIdx.x == 0) fill(y);
    }
    void on_gpu(long long* y, int* lanes, cudaStream_t s) { kernel<<<1, 40, 0, s>>>(y, lanes); }
    void on_cpu(long long* y) { fill(y); }
    """
    lib = inline(source, device_compiler=compiler)
    y, lanes = cuda([0] * 11, torch.int64), cuda([0] * 40, torch.int32)
    lib.on_gpu(y, lanes)
    expected = torch.zeros(11, dtype=torch.int64)
    lib.on_cpu(expected)
    assert y.tolist() == expected.tolist()
    assert lanes.tolist() == [i % 32 for i in range(40)]


def test_a_template_that_lacks_template_is_called():
    """nvcc's parser sees by itself that `add` is a template."""
    lib = clang(r"""
    template <int n> struct V { template <int i> __device__ int add(int x) const { return x * n + i; } };
    template <int n> __global__ void k(int* y) { constexpr int four = 4; V<n> v; *y = v.add<four>(v.add<3>(*y)); }
    void run(int* y, cudaStream_t s) { k<10><<<1, 1, 0, s>>>(y); }
    """)
    y = cuda([5], torch.int32)
    lib.run(y)
    assert y.item() == 534
