"""What a CUDA source may hold. Each test is one feature, checked by results computed on the GPU."""

import pytest
from gpu_support import flush_c, inline

torch = pytest.importorskip("torch")


def test_template_kernels_of_several_types():
    lib = inline(r"""
    template <class T, int N> __global__ void power(const T* x, T* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i >= n) return;
      T product = 1;
      for (int k = 0; k < N; ++k) product *= x[i];
      y[i] = product;
    }
    template <class T> struct Twice { __device__ T operator()(T x) const { return x + x; } };
    template <class T, template <class> class F> __global__ void apply(T* y, int n) {
      if (threadIdx.x < n) y[threadIdx.x] = F<T>()(y[threadIdx.x]);
    }
    template <class T> void run(const T* x, T* y, int n, cudaStream_t s) {
      power<T, 3><<<1, n, 0, s>>>(x, y, n);
      apply<T, Twice><<<1, n, 0, s>>>(y, n);
    }
    void cube(const float* x, float* y, int n, cudaStream_t s) { run(x, y, n, s); }
    void cube(const double* x, double* y, int n, cudaStream_t s) { run(x, y, n, s); }
    void cube(const int* x, int* y, int n, cudaStream_t s) { run(x, y, n, s); }
    void square(const int* x, int* y, int n, cudaStream_t s) { power<int, 2><<<1, n, 0, s>>>(x, y, n); }
    """)
    for dtype in (torch.float32, torch.float64, torch.int32):
        x = torch.arange(10, device="cuda", dtype=dtype)
        y = torch.empty_like(x)
        lib.cube(x, y, 10)
        assert torch.equal(y, 2 * x**3)
    lib.square(x, y, 10)
    assert torch.equal(y, x**2)


def test_constant_memory():
    lib = inline(r"""
    struct Coefficients { float a, b; int n; };
    __constant__ float weights[4];
    __constant__ float preset[3] = {1, 20, 300};
    __constant__ Coefficients one;
    __global__ void kernel(float* y) {
      y[0] = 0;
      for (int i = 0; i < 4; ++i) y[0] += weights[i];
      y[1] = preset[0] + preset[1] + preset[2];
      y[2] = one.a * one.b * one.n;
    }
    void run(const float* w, float* y, cudaStream_t s) {
      cudaMemcpyToSymbolAsync(weights, w, sizeof(weights), 0, cudaMemcpyDeviceToDevice, s);
      Coefficients c = {2, 3, 4};
      cudaMemcpyToSymbol(one, &c, sizeof(c));
      cudaMemcpyToSymbol(weights, &c.a, sizeof(float), 3 * sizeof(float));
      kernel<<<1, 1, 0, s>>>(y);
    }
    """)
    y = torch.zeros(3, device="cuda")
    lib.run(torch.tensor([1.0, 2, 3, 4], device="cuda"), y)
    assert y.tolist() == [8, 321, 24]


def test_device_variables():
    lib = inline(r"""
    __device__ int counter = 5;
    __device__ float table[8];
    namespace ns { __device__ double inner; }
    static __device__ int hidden = 7;
    __global__ void kernel() {
      atomicAdd(&counter, 1);
      table[threadIdx.x] = threadIdx.x * 1.5f;
      if (threadIdx.x == 0) ns::inner = hidden + 0.25;
    }
    double run(float* from_table) {
      kernel<<<1, 8>>>();
      int count = 0;
      double inner = 0;
      cudaMemcpyFromSymbol(&count, counter, sizeof(count));
      cudaMemcpyFromSymbol(&inner, ns::inner, sizeof(inner));
      void* address = nullptr;
      size_t bytes = 0;
      cudaGetSymbolAddress(&address, table);
      cudaGetSymbolSize(&bytes, table);
      cudaMemcpy(from_table, address, bytes, cudaMemcpyDeviceToDevice);
      return count * 1000 + inner;
    }
    """)
    table = torch.zeros(8, device="cuda")
    assert lib.run(table) == 13007.25
    assert table.tolist() == [i * 1.5 for i in range(8)]
    assert lib.run(table) == 21007.25  # variables live as long as the library


def test_managed_variables_from_both_sides():
    lib = inline(r"""
    __managed__ int total = 3;
    __managed__ float values[4] = {1, 2, 3, 4};
    __device__ __managed__ double scale;
    struct Point { int x, y; };
    __managed__ Point point;
    __global__ void kernel() {
      atomicAdd(&total, int(values[threadIdx.x] * scale));
      if (threadIdx.x == 0) point.x = point.y * 2;
    }
    int run(double factor) {
      scale = factor;
      values[3] += 1;
      point = {0, 21};
      kernel<<<1, 4>>>();
      cudaDeviceSynchronize();
      total *= 10;
      int* inside = &total;
      return *inside + point.x;
    }
    """)
    assert lib.run(2) == (3 + 2 + 4 + 6 + 10) * 10 + 42
    assert lib.run(1) == (250 + 1 + 2 + 3 + 6) * 10 + 42


def test_kernels_of_every_linkage():
    lib = inline(r"""
    static __global__ void one(int* y) { y[0] = 1; }
    namespace { __global__ void two(int* y) { y[1] = 2; } }
    namespace outer { namespace { namespace inner { __global__ void three(int* y) { y[2] = 3; } } } }
    extern "C" __global__ void four(int* y) { y[3] = 4; }
    __global__ void five(int* y) { y[4] = 5; }
    __global__ void five(int* y, float x) { y[5] = int(x); }
    __global__ void five(int* y, double x) { y[6] = int(x) + 1; }
    namespace other { __global__ void five(int* y) { y[7] = 8; } }
    template <class T> static __global__ void nine(T* y) { y[8] = sizeof(T) + 5; }
    __global__ void ten(int* y);
    inline __global__ void eleven(int* y) { y[10] = 11; }
    void run(int* y, cudaStream_t s) {
      one<<<1, 1, 0, s>>>(y);
      two<<<1, 1, 0, s>>>(y);
      outer::inner::three<<<1, 1, 0, s>>>(y);
      four<<<1, 1, 0, s>>>(y);
      five<<<1, 1, 0, s>>>(y);
      five<<<1, 1, 0, s>>>(y, 6.0f);
      five<<<1, 1, 0, s>>>(y, 6.0);
      other::five<<<1, 1, 0, s>>>(y);
      nine<<<1, 1, 0, s>>>(y);
      ten<<<1, 1, 0, s>>>(y);
      eleven<<<1, 1, 0, s>>>(y);
    }
    __global__ void ten(int* y) { y[9] = 10; }
    """)
    y = torch.zeros(11, device="cuda", dtype=torch.int32)
    lib.run(y)
    assert y.tolist() == list(range(1, 12))


def test_two_sources_with_the_same_names():
    text = r"""
    __constant__ int factor = FACTOR;
    __device__ int calls;
    static __device__ int helper(int x) { return x * factor; }
    __global__ void kernel(int* y) { *y = helper(10) + calls++; }
    void forward(int* y, cudaStream_t s) { kernel<<<1, 1, 0, s>>>(y); }
    """
    one, two = inline(text, defines={"FACTOR": 2}), inline(text, defines={"FACTOR": 3})
    y = torch.zeros(1, device="cuda", dtype=torch.int32)
    for expected in (20, 21, 22):
        one.forward(y)
        assert y.item() == expected
    two.forward(y)
    assert y.item() == 30


def test_dynamic_shared_memory():
    lib = inline(r"""
    __global__ void reverse(int* x, int n) {
      extern __shared__ int buffer[];
      int i = threadIdx.x;
      buffer[i] = x[i];
      __syncthreads();
      x[i] = buffer[n - 1 - i];
    }
    __global__ void large(const double* x, double* sum) {
      extern __shared__ __align__(16) unsigned char memory[];
      double* buffer = reinterpret_cast<double*>(memory);
      for (int i = threadIdx.x; i < 8192; i += blockDim.x) buffer[i] = x[i];
      __syncthreads();
      if (threadIdx.x == 0) for (int i = 0; i < 8192; ++i) *sum += buffer[i];
    }
    void run(int* x, int n, const double* y, double* sum, cudaStream_t s) {
      reverse<<<1, n, n * sizeof(int), s>>>(x, n);
      cudaFuncSetAttribute(large, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536);
      large<<<1, 256, 65536, s>>>(y, sum);
    }
    """)
    x = torch.arange(100, device="cuda", dtype=torch.int32)
    y, total = torch.ones(8192, device="cuda", dtype=torch.float64), torch.zeros(1, device="cuda", dtype=torch.float64)
    lib.run(x, 100, y, total)
    assert x.tolist() == list(range(100))[::-1] and total.item() == 8192


def test_kernels_as_pointers():
    lib = inline(r"""
    __global__ void add(float* x, float y) { x[threadIdx.x] += y; }
    __global__ void multiply(float* x, float y) { x[threadIdx.x] *= y; }
    template <class T> __global__ void negate(T* x, T) { x[threadIdx.x] = -x[threadIdx.x]; }
    typedef void (*Kernel)(float*, float);
    int run(float* x, int which, float y, cudaStream_t s) {
      static const Kernel kernels[] = {add, multiply, negate<float>};
      void* arguments[] = {&x, &y};
      cudaError_t error = cudaLaunchKernel((const void*)kernels[which], dim3(1), dim3(4), arguments, 0, s);
      if (which == 0) kernels[1]<<<1, 4, 0, s>>>(x, 1.0f);
      return int(error);
    }
    int attributes() {
      cudaFuncAttributes a;
      if (cudaFuncGetAttributes(&a, multiply) != cudaSuccess) return -1;
      cudaFuncAttributes b;
      if (cudaFuncGetAttributes(&b, (const void*)negate<float>) != cudaSuccess) return -2;
      int blocks = 0;
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add, 128, 0);
      int grid = 0, block = 0;
      cudaOccupancyMaxPotentialBlockSize(&grid, &block, negate<float>, 0, 0);
      return a.maxThreadsPerBlock >= 256 && b.binaryVersion >= 75 && blocks > 0 && grid > 0 && block > 0;
    }
    int launch_ex(float* x, float y, cudaStream_t s) {
      cudaLaunchConfig_t config = {};
      config.gridDim = dim3(1);
      config.blockDim = dim3(4);
      config.stream = s;
      return int(cudaLaunchKernelEx(&config, add, x, y));
    }
    """)
    x = torch.arange(4, device="cuda", dtype=torch.float32)
    assert [lib.run(x, which, y) for which, y in ((0, 1), (1, 10), (2, 0))] == [0, 0, 0]
    assert lib.attributes() == 1
    assert lib.launch_ex(x, 100) == 0
    assert x.tolist() == [90, 80, 70, 60]


def test_textures_and_surfaces():
    lib = inline(r"""
    __global__ void sample(cudaTextureObject_t texture, float* y, int width, int height) {
      int i = blockIdx.x * blockDim.x + threadIdx.x, j = blockIdx.y * blockDim.y + threadIdx.y;
      if (i < width && j < height) y[j * width + i] = tex2D<float>(texture, i + 1.0f, j + 0.5f);
    }
    __global__ void write(cudaSurfaceObject_t surface, int width, int height) {
      int i = threadIdx.x, j = threadIdx.y;
      if (i < width && j < height) surf2Dwrite(float(100 * j + i), surface, i * sizeof(float), j);
    }
    int run(float* y, int width, int height) {
      cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
      cudaArray_t array;
      if (cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore)) return 1;
      cudaResourceDesc resource = {};
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = array;
      cudaSurfaceObject_t surface = 0;
      if (cudaCreateSurfaceObject(&surface, &resource)) return 2;
      write<<<1, dim3(16, 16)>>>(surface, width, height);
      cudaTextureDesc how = {};
      how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
      how.filterMode = cudaFilterModeLinear;
      how.readMode = cudaReadModeElementType;
      cudaTextureObject_t texture = 0;
      if (cudaCreateTextureObject(&texture, &resource, &how, nullptr)) return 3;
      sample<<<dim3(1, 1), dim3(16, 16)>>>(texture, y, width, height);
      cudaError_t error = cudaDeviceSynchronize();
      cudaDestroyTextureObject(texture);
      cudaDestroySurfaceObject(surface);
      cudaFreeArray(array);
      return int(error);
    }
    """)
    y = torch.zeros(8, 12, device="cuda")
    assert lib.run(y, 12, 8) == 0
    expected = [[100 * j + min(i + 0.5, 11) for i in range(12)] for j in range(8)]
    assert y.tolist() == expected


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


def test_device_classes_lambdas_and_virtual_functions():
    lib = inline(r"""
    struct Vector {
      float x, y;
      __host__ __device__ Vector(float x, float y) : x(x), y(y) {}
      __host__ __device__ Vector operator+(Vector o) const { return {x + o.x, y + o.y}; }
      __host__ __device__ float dot(Vector o) const { return x * o.x + y * o.y; }
    };
    struct Shape { __device__ virtual float area() const = 0; __device__ virtual ~Shape() {} };
    struct Square : Shape { float a; __device__ Square(float a) : a(a) {} __device__ float area() const override { return a * a; } };
    struct Circle : Shape { float r; __device__ Circle(float r) : r(r) {} __device__ float area() const override { return 3 * r * r; } };
    enum class Mode { plus, minus };
    template <class F> __device__ float twice(F f, float x) { return f(f(x)); }
    __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    template <class... T> __device__ float total(T... x) { return (0.0f + ... + float(x)); }
    __global__ void kernel(float* y, Vector v, Mode mode) {
      y[0] = (v + Vector(1, 1)).dot({1, 2});
      Shape* shapes[] = {new Square(3), new Circle(2)};
      y[1] = shapes[0]->area() + shapes[1]->area();
      delete shapes[0];
      delete shapes[1];
      float k = 2;
      y[2] = twice([=](float x) { return x * k + 1; }, 3);
      y[3] = mode == Mode::minus ? -1 : 1;
      y[4] = fibonacci(10);
      y[5] = total(1, 2.5f, 3.0, 4u);
      float (*function)(float) = [](float x) { return x * 10; };
      y[6] = function(0.5f);
      switch (int(y[4])) { case 55: y[7] = 7; break; default: y[7] = 0; }
    }
    float run(float* y, cudaStream_t s) {
      kernel<<<1, 1, 0, s>>>(y, Vector(1, 2), Mode::minus);
      auto on_the_host = [](Vector a) { return a.dot(a); };
      return on_the_host({3, 4});
    }
    """)
    y = torch.zeros(8, device="cuda")
    assert lib.run(y) == 25
    assert y.tolist() == [8, 21, 15, -1, 55, 10.5, 5, 7]


def test_warp_functions_atomics_and_ptx():
    lib = inline(r"""
    __device__ unsigned lane() { unsigned l; asm volatile("mov.u32 %0, %%laneid;" : "=r"(l)); return l; }
    __global__ void kernel(int* y, float* f, unsigned long long* wide) {
      int mine = threadIdx.x;
      for (int step = 16; step; step /= 2) mine += __shfl_down_sync(0xffffffff, mine, step);
      if (lane() == 0) atomicAdd(&y[0], mine);
      unsigned odd = __ballot_sync(0xffffffff, threadIdx.x & 1);
      if (threadIdx.x == 0) y[1] = __popc(odd), y[2] = __clz(1), y[3] = int(odd == 0xaaaaaaaau);
      if (__all_sync(0xffffffff, threadIdx.x < 1000)) atomicMax(&y[4], int(threadIdx.x));
      atomicAdd(f, 0.5f);
      atomicCAS(&y[5], 0, int(threadIdx.x) + 1);
      atomicAdd(wide, 1ull << 33);
      int product;
      asm("mul.lo.s32 %0, %1, %2;" : "=r"(product) : "r"(6), "r"(7));
      y[6] = product;
      y[7] = __reduce_add_sync(0xffffffff, 2);
    }
    void run(int* y, float* f, int64_t* wide, cudaStream_t s) { kernel<<<1, 64, 0, s>>>(y, f, (unsigned long long*)wide); }
    """)
    y = torch.zeros(8, device="cuda", dtype=torch.int32)
    f, wide = torch.zeros(1, device="cuda"), torch.zeros(1, device="cuda", dtype=torch.int64)
    lib.run(y, f, wide)
    values = y.tolist()
    assert values[5] in range(1, 65)
    assert values[:5] + values[6:] == [2016, 16, 31, 1, 63, 42, 64]
    assert f.item() == 32 and wide.item() == 64 << 33


def test_launch_bounds_restrict_and_builtins():
    lib = inline(r"""
    #define BLOCK 64
    #define DEFINE_KERNEL(name, op) \
      __global__ void __launch_bounds__(BLOCK, 2) name(const float* __restrict__ x, float* __restrict__ y, size_t n) { \
        for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) \
          y[i] = op(__ldg(x + i)); \
      }
    DEFINE_KERNEL(root, sqrtf)
    DEFINE_KERNEL(exponential, __expf)
    #define LAUNCH(name, ...) name<<<dim3(4), dim3(BLOCK), 0, stream>>>(__VA_ARGS__)
    __global__ void where(int3* y) {
      if (threadIdx.x == 1 && threadIdx.y == 2 && threadIdx.z == 0)
        y[blockIdx.z * gridDim.y * gridDim.x + blockIdx.y * gridDim.x + blockIdx.x] = make_int3(blockIdx.x, blockIdx.y, blockIdx.z);
    }
    void run(const float* x, float* y, float* z, size_t n, cudaStream_t stream) {
      LAUNCH(root, x, y, n);
      LAUNCH(exponential, x, z, n);
    }
    void places(int* y, cudaStream_t stream) { where<<<dim3(2, 3, 4), dim3(2, 3), 0, stream>>>((int3*)y); }
    """)
    x = torch.rand(1000, device="cuda")
    y, z = torch.empty_like(x), torch.empty_like(x)
    lib.run(x, y, z, 1000)
    assert torch.allclose(y, x.sqrt()) and torch.allclose(z, x.exp(), rtol=1e-4)
    where = torch.full((24, 3), -1, device="cuda", dtype=torch.int32)
    lib.places(where)
    assert where.tolist() == [[i % 2, i // 2 % 3, i // 6] for i in range(24)]


def test_the_runtime_api_of_the_host():
    lib = inline(r"""
    #include <cstdio>
    #include <stdexcept>
    #include <string>
    #include <vector>
    #define CHECK(call) do { cudaError_t e = (call); if (e) throw std::runtime_error(std::string(#call) + ": " + cudaGetErrorString(e)); } while (0)
    __global__ void kernel(const float* x, float* y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 2 * x[i]; }
    std::vector<float> run(const std::vector<float>& x) {
      const size_t bytes = x.size() * sizeof(float);
      float *a, *b, *pinned;
      cudaStream_t stream;
      cudaEvent_t begin, end;
      CHECK(cudaMalloc(&a, bytes));
      CHECK(cudaMalloc((void**)&b, bytes));
      CHECK(cudaMallocHost(&pinned, bytes));
      CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      CHECK(cudaEventCreate(&begin));
      CHECK(cudaEventCreateWithFlags(&end, cudaEventDefault));
      CHECK(cudaEventRecord(begin, stream));
      CHECK(cudaMemcpyAsync(a, x.data(), bytes, cudaMemcpyHostToDevice, stream));
      kernel<<<(unsigned(x.size()) + 127) / 128, 128, 0, stream>>>(a, b, int(x.size()));
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpyAsync(pinned, b, bytes, cudaMemcpyDeviceToHost, stream));
      CHECK(cudaEventRecord(end, stream));
      CHECK(cudaStreamSynchronize(stream));
      float milliseconds = -1;
      CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
      std::vector<float> y(pinned, pinned + x.size());
      if (milliseconds <= 0) throw std::runtime_error("no time passed");
      cudaFree(a), cudaFree(b), cudaFreeHost(pinned), cudaStreamDestroy(stream), cudaEventDestroy(begin), cudaEventDestroy(end);
      return y;
    }
    std::string name() {
      cudaDeviceProp properties;
      CHECK(cudaGetDeviceProperties(&properties, 0));
      int multiprocessors = 0;
      CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
      return std::string(properties.name) + " " + std::to_string(multiprocessors);
    }
    void fails() { CHECK(cudaSetDevice(1000)); }
    """)
    assert lib.run([1, 2, 3.5]) == [2, 4, 7]
    properties = torch.cuda.get_device_properties(0)
    assert lib["name"]() == f"{properties.name} {properties.multi_processor_count}"
    with pytest.raises(RuntimeError, match=r"cudaSetDevice\(1000\): invalid device ordinal"):
        lib.fails()


def test_printf_and_assert_on_the_device(capfd):
    lib = inline(r"""
    #include <cassert>
    #include <cstdio>
    __global__ void kernel(int n) {
      assert(n > 0);
      printf("thread %d of %d: %s %.2f\n", threadIdx.x, n, "text", 1.5);
    }
    int run(int n) {
      printf("on the host\n");
      kernel<<<1, n>>>(n);
      return int(cudaDeviceSynchronize());
    }
    int fail() {
      kernel<<<1, 1>>>(0);
      return int(cudaDeviceSynchronize());
    }
    """)
    assert lib.run(2) == 0
    flush_c()
    assert sorted(capfd.readouterr().out.splitlines()) == [
        "on the host", "thread 0 of 2: text 1.50", "thread 1 of 2: text 1.50"]
    assert lib.fail() == 710  # cudaErrorAssert
    assert "n > 0" in capfd.readouterr().err


def test_several_files_and_headers():
    lib = inline(
        {
            "main.cu": '#include "kernels.cuh"\n#include "deep/scale.h"\nextern "C" int helper(int);\n'
                       "void other(float*, cudaStream_t);\n"
                       "int run(float* x, cudaStream_t s) { scale<<<1, 4, 0, s>>>(x, FACTOR); other(x, s); return helper(20); }\n",
            "other.cu": '#include "kernels.cuh"\n__device__ float offset = 100;\n'
                        "__global__ void add(float* x) { x[threadIdx.x] += offset; }\n"
                        "void other(float* x, cudaStream_t s) { add<<<1, 4, 0, s>>>(x); scale<<<1, 4, 0, s>>>(x, 2); }\n",
            "helper.c": "int helper(int x) { int class = x + 1; return class; }\n",
            "kernels.cuh": "#pragma once\nstatic __global__ void scale(float* x, float f) { x[threadIdx.x] *= f; }\n",
        },
        headers={"deep/scale.h": "#define FACTOR 3.0f\n"}, functions=["run"])
    x = torch.arange(4, device="cuda", dtype=torch.float32)
    assert lib.run(x) == 21
    assert x.tolist() == [200, 206, 212, 218]
    assert {file for file, _ in lib.cubins} == {"main.cu", "other.cu"}


def test_graphs_made_by_the_source():
    lib = inline(r"""
    __global__ void add(int* x) { atomicAdd(x, 1); }
    int run(int* x) {
      cudaStream_t stream;
      cudaStreamCreate(&stream);
      cudaGraph_t graph;
      cudaGraphExec_t executable;
      cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
      for (int i = 0; i < 5; ++i) add<<<1, 2, 0, stream>>>(x);
      cudaStreamEndCapture(stream, &graph);
      if (cudaGraphInstantiate(&executable, graph, 0)) return -1;
      for (int i = 0; i < 3; ++i) cudaGraphLaunch(executable, stream);
      cudaError_t error = cudaStreamSynchronize(stream);
      cudaGraphExecDestroy(executable);
      cudaGraphDestroy(graph);
      cudaStreamDestroy(stream);
      return int(error);
    }
    """)
    x = torch.zeros(1, device="cuda", dtype=torch.int32)
    assert lib.run(x) == 0 and x.item() == 30


def test_unified_memory():
    lib = inline(r"""
    struct Node { int value; Node* next; };
    __global__ void sum(const Node* first, int* total) { for (; first; first = first->next) *total += first->value; }
    int run(int n) {
      Node* nodes;
      int* total;
      cudaMallocManaged(&nodes, n * sizeof(Node));
      cudaMallocManaged(&total, sizeof(int));
      *total = 0;
      for (int i = 0; i < n; ++i) nodes[i] = {i, i + 1 < n ? nodes + i + 1 : nullptr};
      sum<<<1, 1>>>(nodes, total);
      cudaDeviceSynchronize();
      int result = *total;
      cudaFree(nodes);
      cudaFree(total);
      return result;
    }
    """)
    assert lib.run(100) == 4950


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
