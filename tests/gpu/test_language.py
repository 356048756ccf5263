"""What the device code of a source may hold: kernels, variables, templates, classes. Each test is one feature, checked by
results computed on the GPU."""

import pytest
from gpu_support import inline

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


@pytest.mark.parametrize("compiler", ["nvrtc", "clang"])
def test_variables_that_are_only_declared_are_the_modules_own(compiler):
    lib = inline(r"""
    extern __constant__ float weights[4];
    extern __device__ int counter;
    __global__ void kernel(float* y) { y[threadIdx.x] = weights[threadIdx.x] + atomicAdd(&counter, 0); }
    int run(const float* w, int n, float* y, cudaStream_t s) {
      cudaMemcpyToSymbolAsync(weights, w, sizeof(weights), 0, cudaMemcpyDeviceToDevice, s);
      cudaMemcpyToSymbolAsync(counter, &n, sizeof n, 0, cudaMemcpyHostToDevice, s);
      kernel<<<1, 4, 0, s>>>(y);
      return cudaStreamSynchronize(s);
    }
    """, device_compiler=compiler)
    y = torch.zeros(4, device="cuda")
    assert lib.run(torch.tensor([1.0, 2, 3, 4], device="cuda"), 10, y) == 0
    assert y.tolist() == [11, 12, 13, 14]


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
