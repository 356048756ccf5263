// GPUs by the C++ face: kernels launched with a grid, functions, ops, tensors that are copied, errors.
#include <gtest/gtest.h>
#include <tarsia/tarsia.h>

#include <thread>

#include "tests/gpu/op/on_gpu.h"

namespace {

using tarsia::Launch;
using tarsia::Tensor;

constexpr char k_source[] = R"(
#include <tarsia/op.h>
struct Pair { float a; int b; };
template <class T>
__global__ void scale(T* x, T factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}
template __global__ void scale<float>(float*, float, int);
namespace ns {
__global__ void where(int* out) { out[blockIdx.y * gridDim.x + blockIdx.x] = blockDim.x * 100 + blockDim.y; }
}
__global__ void shared(float* out, int n) {
  extern __shared__ float buffer[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = i;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = buffer[n - 1 - i];
}
__global__ void by_value(float* out, Pair pair) { *out = pair.a * pair.b; }
__device__ const volatile int* d_gate;
static volatile int* s_gate;  // d_gate on the host
void close_gate() {
  if (!s_gate) {
    cudaMallocHost((void**)&s_gate, sizeof(int));
    cudaMemcpyToSymbol(d_gate, &s_gate, sizeof s_gate);
  }
  *s_gate = 0;
}
void open_gate() { *s_gate = 1; }
__global__ void hold() {  // a minute at most, so that a test that waits for it fails
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (!*d_gate && now - begin < 60000000000ull);
}
bool finished(cudaStream_t stream) { return cudaStreamQuery(stream) == cudaSuccess; }
void plus(float* x, int n, float by, cudaStream_t stream);
__global__ void plus_kernel(float* x, int n, float by) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] += by;
}
void plus(float* x, int n, float by, cudaStream_t stream) { plus_kernel<<<1, 64, 0, stream>>>(x, n, by); }
tarsia::Tensor made(int n) {
  tarsia::Tensor y = tarsia::empty({n}, tarsia::float32, tarsia::gpu_device());
  cudaMemsetAsync(y.data(), 0, size_t(y.bytes()), tarsia::Stream::current());
  return y;
}
TARSIA_OP(gpu_cpp_square).forward("gpu", [](tarsia::Context& c) {
  const long n = c.input(0).numel();
  float* twice = c.scratch<float>(n);
  cudaMemcpyAsync(twice, c.input(0).data(), n * sizeof(float), cudaMemcpyDeviceToDevice, c.stream());
  cudaMemcpyAsync(c.output(0).data(), twice, n * sizeof(float), cudaMemcpyDeviceToDevice, c.stream());
  scale<float><<<(n + 63) / 64, 64, 0, c.stream()>>>(c.output(0).data<float>(), 5.0f, int(n));
});
)";

class GpuTest : public OnGpu {
 protected:
  static const tarsia::Library& library() {
    static const tarsia::Library lib = tarsia::load_inline(k_source, {.name = "gpu_cpp"});
    return lib;
  }
};

TEST_F(GpuTest, copies_go_there_and_back) {
  const Tensor x = on_gpu({1, 2, 3});
  EXPECT_TRUE(x.is_gpu());
  EXPECT_EQ(tarsia::to_vector<float>(x), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(tarsia::to_vector<float>(tarsia::copy_to(x, tarsia::gpu_device())),
            (std::vector<float>{1, 2, 3}));
}

TEST_F(GpuTest, a_kernel_is_launched_with_its_grid) {
  const Tensor x = on_gpu({1, 2, 3, 4, 5});
  library().kernel("scale<float>").launch({.grid = {2}, .block = {3}}, x, 3.0f, 5);
  EXPECT_EQ(tarsia::to_vector<float>(x), (std::vector<float>{3, 6, 9, 12, 15}));
  const Tensor where = tarsia::copy_to(tarsia::tensor<int>({0, 0, 0, 0, 0, 0}), tarsia::gpu_device());
  library().kernel("where").launch({.grid = {3, 2}, .block = {4, 5}}, where);
  EXPECT_EQ(tarsia::to_vector<int>(where), std::vector<int>(6, 405));
}

TEST_F(GpuTest, shared_memory_beyond_the_default_is_granted) {
  for (const int n : {10, 30000}) {  // 40 and 120 000 bytes
    const Tensor out = on_gpu(std::vector<float>(n));
    library().kernel("shared").launch({.block = {256}, .shared_bytes = unsigned(n) * 4}, out, n);
    const std::vector<float> values = tarsia::to_vector<float>(out);
    EXPECT_EQ(values.front(), n - 1);
    EXPECT_EQ(values.back(), 0);
  }
}

TEST_F(GpuTest, structs_are_passed_as_bytes) {
  struct {
    float a = 2.5f;
    int b = 4;
  } pair;
  const Tensor out = on_gpu({0});
  library()
      .kernel("by_value")
      .launch({}, out, std::string_view(reinterpret_cast<const char*>(&pair), sizeof(pair)));
  EXPECT_EQ(tarsia::to_vector<float>(out)[0], 10);
}

TEST_F(GpuTest, launches_with_wrong_arguments_are_refused) {
  const tarsia::Kernel kernel = library().kernel("scale<float>");
  const Tensor x = on_gpu({1, 2});
  EXPECT_THROW(kernel.launch({}, x, 3.0f), tarsia::ArgumentError);
  EXPECT_THROW(kernel.launch({}, tarsia::tensor<float>({1}), 3.0f, 1), tarsia::ArgumentError);
  EXPECT_THROW(kernel.launch({}, tarsia::copy_to(tarsia::tensor<int>({1}), tarsia::gpu_device()), 3.0f, 1),
               tarsia::ArgumentError);
  EXPECT_THROW(kernel.launch({.block = {5000}}, x, 3.0f, 2), tarsia::Error);
  kernel.launch({.block = {2}}, x, 3.0f, 2);
  EXPECT_EQ(tarsia::to_vector<float>(x), (std::vector<float>{3, 6}));
}

TEST_F(GpuTest, functions_run_on_the_stream_of_the_thread) {
  const Tensor x = on_gpu({1, 2});
  library()["plus"].call(x, 2, 10.0f);
  EXPECT_EQ(tarsia::to_vector<float>(x), (std::vector<float>{11, 12}));
  library()["plus"].call(x, 2, 10.0f, tarsia::Stream());
  tarsia::synchronize();
  EXPECT_EQ(tarsia::to_vector<float>(x), (std::vector<float>{21, 22}));
  EXPECT_THROW(library()["plus"].call(tarsia::tensor<float>({1}), 1, 1.0f), tarsia::ArgumentError);
  const Tensor y = library()["made"].call<Tensor>(4);
  EXPECT_EQ(tarsia::to_vector<float>(y), std::vector<float>(4));
}

TEST_F(GpuTest, ops_run) {
  library();
  const Tensor x = on_gpu({1, 2, 3});
  const tarsia::BoundOp op = tarsia::Op("gpu_cpp_square").bind({x});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(tarsia::to_vector<float>(op({x})[0]), (std::vector<float>{5, 10, 15}));
  EXPECT_THROW(op({tarsia::tensor<float>({1, 2, 3})}), tarsia::ArgumentError);
  EXPECT_THROW(tarsia::Op("gpu_cpp_square").bind({tarsia::tensor<float>({1})}), tarsia::Error);
}

TEST_F(GpuTest, launches_do_not_wait) {
  const tarsia::Kernel hold = library().kernel("hold");
  library()["close_gate"].call();
  library()["open_gate"].call();
  hold.launch({});  // CUDA loads a kernel with its first launch
  tarsia::synchronize();
  library()["close_gate"].call();
  hold.launch({});
  EXPECT_FALSE(library()["finished"].call<bool>());
  library()["open_gate"].call();
  tarsia::synchronize();
  EXPECT_TRUE(library()["finished"].call<bool>());
}

TEST_F(GpuTest, a_library_goes_while_its_kernel_runs) {
  const Tensor x = on_gpu({1, 2});
  {
    const tarsia::Library lib = tarsia::load_inline(R"(
      __global__ void late(float* x) {
        unsigned long long begin, now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
        do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        while (now - begin < 300000000ull);
        *x = 7;
      })");
    lib.kernel("late").launch({}, x);
  }
  EXPECT_EQ(tarsia::to_vector<float>(x), (std::vector<float>{7, 2}));
}

TEST_F(GpuTest, threads_launch_at_once) {
  library();
  std::vector<std::thread> threads;
  std::vector<float> results(8);
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      const Tensor x = on_gpu({float(t)});
      for (int i = 0; i < 100; ++i) library()["plus"].call(x, 1, 1.0f);
      results[t] = tarsia::to_vector<float>(x)[0];
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 8; ++t) EXPECT_EQ(results[t], t + 100);
}

}  // namespace
