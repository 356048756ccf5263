// Runs of graphs as CUDA graphs, from C++.
#include <gtest/gtest.h>
#include <tarsia/graph.h>
#include <tarsia/tarsia.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/gpu/op/on_gpu.h"

namespace {

using tarsia::Tensor;

constexpr char k_source[] = R"(
#include <tarsia/op.h>
__global__ void axpy_kernel(const float* x, const float* y, float* z, int n, float a) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = a * x[i] + y[i];
}
static void axpy(tarsia::Context& c) {
  const int n = int(c.output(0).numel());
  axpy_kernel<<<(n + 63) / 64, 64, 0, c.stream()>>>(c.input(0).data<const float>(), c.input(1).data<const float>(),
                                                    c.output(0).data<float>(), n, c.attribute<float>("a"));
}
TARSIA_OP(captured_axpy).input("x").input("y").output("z").attribute("a", 2.0f).forward("gpu", axpy);
__global__ void count_kernel(float* state, float* y) { *y = *state += 1; }
static void count(tarsia::Context& c) {
  count_kernel<<<1, 1, 0, c.stream()>>>(c.input(1).data<float>(), c.output(0).data<float>());
}
TARSIA_OP(captured_count).input("x").mutable_input("state").output("y").forward("gpu", count);
__global__ void spin_kernel(long long cycles) {
  for (const long long begin = clock64(); clock64() - begin < cycles;) {}
}
void spin(long long cycles, cudaStream_t stream) { spin_kernel<<<1, 1, 0, stream>>>(cycles); }
bool finished(cudaStream_t stream) { return cudaStreamQuery(stream) == cudaSuccess; }
long long new_stream() {
  cudaStream_t stream = nullptr;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  return reinterpret_cast<long long>(stream);
}
)";

class CapturedGraphs : public OnGpu {
 protected:
  void SetUp() override {
    OnGpu::SetUp();
    if (!IsSkipped()) library();
  }
  static const tarsia::Library& library() {
    static const tarsia::Library lib = tarsia::load_inline(k_source, {.name = "captured_graphs"});
    return lib;
  }
  /// z = 2 (2 x + y) + y
  static tarsia::Graph twice() {
    tarsia::Graph g;
    const tarsia::GraphValue x = g.input("x"), y = g.input("y");
    g.output(g.add("captured_axpy", {g.add("captured_axpy", {x, y}), y}));
    return g;
  }
};

using Floats = std::vector<float>;

TEST_F(CapturedGraphs, a_call_copies_in_and_gives_fresh_results) {
  const tarsia::Graph g = twice();
  const Tensor x = on_gpu({1, 2, 3}), y = on_gpu({10, 20, 30});
  const tarsia::CapturedGraph captured = g.capture({x, y});
  const Tensor first = captured({x, y}).at(0);
  const Tensor second =
      captured({on_gpu({0, 0, 1}), tarsia::tensor(Floats{1, 1, 1})}).at(0);  // one from the CPU
  EXPECT_EQ(tarsia::to_vector<float>(first), (Floats{34, 68, 102}));
  EXPECT_EQ(tarsia::to_vector<float>(second), (Floats{3, 3, 7}));
  EXPECT_EQ(tarsia::to_vector<float>(g.bind({x, y})({x, y}).at(0)), (Floats{34, 68, 102}));
}

TEST_F(CapturedGraphs, tensors_at_fixed_addresses_are_filled_and_read) {
  const tarsia::CapturedGraph captured = twice().capture({on_gpu({0, 0}), on_gpu({0, 0})});
  const std::vector<Tensor> inputs = captured.inputs(), outputs = captured.outputs();
  ASSERT_EQ(inputs.size(), 2u);
  ASSERT_EQ(outputs.size(), 1u);
  for (const float one : {1.0f, 2.0f}) {
    for (const Tensor& input : inputs)
      ASSERT_EQ(tarsia_copy(input.get(), tarsia::tensor(Floats{one, -one}).get(), nullptr), 0);
    captured.replay();
    EXPECT_EQ(tarsia::to_vector<float>(outputs[0]), (Floats{7 * one, -7 * one}));
    EXPECT_EQ(captured.outputs()[0].data(), outputs[0].data());
  }
}

TEST_F(CapturedGraphs, a_replay_keeps_the_order_of_its_stream_and_does_not_wait) {
  const tarsia::Stream stream(reinterpret_cast<CUstream_st*>(library()["new_stream"].call<int64_t>()));
  const tarsia::CapturedGraph captured = twice().capture({on_gpu({1}), on_gpu({1})});
  const Tensor x = on_gpu({3}), y = on_gpu({4});
  captured({x, y}, stream);  // what CUDA loads at first is there
  tarsia::synchronize(0, stream);
  library()["spin"].call(int64_t{1} << 28, stream);  // more than a tenth of a second
  const Tensor z = captured({x, y}, stream).at(0);
  EXPECT_FALSE(library()["finished"].call<bool>(stream));
  tarsia::synchronize(0, stream);
  EXPECT_EQ(tarsia::to_vector<float>(z), Floats{24});
}

TEST_F(CapturedGraphs, a_state_is_as_it_was_until_the_first_replay) {
  tarsia::Graph g;
  const Tensor count = on_gpu({5});
  g.output(g.add("captured_count", {g.input("x"), g.state(count)}));
  const tarsia::CapturedGraph captured = g.capture({on_gpu({0})});
  EXPECT_EQ(tarsia::to_vector<float>(count), Floats{5});
  EXPECT_EQ(tarsia::to_vector<float>(captured({on_gpu({0})}).at(0)), Floats{6});
  captured.replay();
  EXPECT_EQ(tarsia::to_vector<float>(count), Floats{7});
}

TEST_F(CapturedGraphs, calls_on_several_streams_take_turns) {
  const auto new_stream = [] {
    return tarsia::Stream(reinterpret_cast<CUstream_st*>(library()["new_stream"].call<int64_t>()));
  };
  const tarsia::Stream one = new_stream(), other = new_stream();
  const tarsia::CapturedGraph captured = twice().capture({on_gpu({1}), on_gpu({1})});
  const Tensor ones = on_gpu({1}), fives = on_gpu({5});
  for (const tarsia::Stream stream : {one, other}) captured({ones, ones}, stream);
  tarsia::synchronize(0, one);
  tarsia::synchronize(0, other);
  library()["spin"].call(int64_t{1} << 27, one);
  const Tensor first = captured({ones, ones}, one).at(0);
  const Tensor second = captured({fives, fives}, other).at(0);  // has to wait for what the first copies
  tarsia::synchronize(0, one);
  tarsia::synchronize(0, other);
  EXPECT_EQ(tarsia::to_vector<float>(first), Floats{7});
  EXPECT_EQ(tarsia::to_vector<float>(second), Floats{35});
}

TEST_F(CapturedGraphs, it_outlives_the_graph_and_the_library) {
  std::optional<tarsia::CapturedGraph> captured;
  {
    const tarsia::Library own = tarsia::load_inline(R"(
#include <tarsia/op.h>
__global__ void negate_kernel(const float* x, float* y) { *y = -*x; }
static void negate(tarsia::Context& c) {
  negate_kernel<<<1, 1, 0, c.stream()>>>(c.input(0).data<const float>(), c.output(0).data<float>());
}
TARSIA_OP(captured_negate).forward("gpu", negate);
)");
    tarsia::Graph g;
    g.output(g.add("captured_negate", {g.input("x")}));
    captured.emplace(g.capture({on_gpu({1})}));
  }
  tarsia::CapturedGraph moved = std::move(*captured);
  captured.reset();
  EXPECT_EQ(tarsia::to_vector<float>(moved({on_gpu({3})}).at(0)), Floats{-3});
}

TEST_F(CapturedGraphs, wrong_tensors_are_refused_by_their_number) {
  const Tensor x = on_gpu({1, 2}), y = on_gpu({3, 4});
  const tarsia::CapturedGraph captured = twice().capture({x, y});
  const auto message = [&](const std::vector<Tensor>& given) -> std::string {
    try {
      captured(given);
    } catch (const tarsia::ArgumentError& e) {
      return e.what();
    }
    return "none";
  };
  EXPECT_EQ(message({x}), "graph: it was captured with 2 inputs and was given 1");
  EXPECT_EQ(message({x, on_gpu({1, 2, 3})}),
            "graph: input 1 is not of the shape and dtype that were captured, or not contiguous");
  EXPECT_EQ(message({tarsia::tensor(std::vector<double>{1, 2}), y}),
            "graph: input 0 is not of the shape and dtype that were captured, or not contiguous");
  EXPECT_EQ(message({x, Tensor()}),
            "graph: input 1 is not of the shape and dtype that were captured, or not contiguous");
}

}  // namespace
