// Inference and runs of ops of libraries built against MXNet's own header.
#include "registry/mxnet/mxnet_op.h"

#include "tests/unit/registry/op_fixture.h"

namespace tarsia::registry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MxnetOps : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { m_library = load("mxnet_built" + std::to_string(GetParam())); }
  void TearDown() override { OpRegistry::instance().remove(*m_library); }
  Ref<Library> m_library;
};
INSTANTIATE_TEST_SUITE_P(Versions, MxnetOps, testing::Values(7, 10, 11));

TEST_P(MxnetOps, forward_and_backward_run) {
  auto bound = bind("built_scale", {meta({3})}, {{"factor", of("0.5")}});
  Array<float> x({2, 4, 6}), y({3}, {}), g({1, 1, 1}), d({3}, {});
  run(*bound, {&x.tensor}, {&y.tensor});
  EXPECT_THAT(y.data, ElementsAre(1, 2, 3));
  run(*bound, {&g.tensor, &x.tensor, &y.tensor}, {&d.tensor}, {}, TARSIA_BACKWARD);
  EXPECT_THAT(d.data, ElementsAre(0.5, 0.5, 0.5));
}

TEST_P(MxnetOps, write_requests_are_provided) {
  auto bound = bind("built_scale", {meta({2})});
  Array<float> x({1, 2}), y({10, 10});
  run(*bound, {&x.tensor}, {&y.tensor}, {TARSIA_REQUEST_ADD});
  EXPECT_THAT(y.data, ElementsAre(12, 14));
  run(*bound, {&x.tensor}, {&y.tensor}, {TARSIA_REQUEST_NULL});
  EXPECT_THAT(y.data, ElementsAre(12, 14));
  run(*bound, {&x.tensor}, {&x.tensor}, {TARSIA_REQUEST_INPLACE});
  EXPECT_THAT(x.data, ElementsAre(2, 4));
}

TEST_P(MxnetOps, inference_fills_unknown_inputs) {
  tarsia_meta first = meta({2, -1});
  first.dtype = {TARSIA_ANY_DTYPE, 0, 0};
  const Request request({first, unknown_meta()}, {{"inputs", of("2")}});
  const BoundInfo info(OpRegistry::instance().find("built_scale")->op(), request.request);
  EXPECT_EQ(describe(info.inputs()[1]), "float32 (2, ?)");
  EXPECT_EQ(describe(info.outputs()[0]), "float32 (2, ?)");
}

TEST_P(MxnetOps, failures_name_op_and_function) {
  EXPECT_THAT(error_of([] { bind("built_scale", {meta({2})}, {{"fail", of("so")}}); }),
              HasSubstr("op 'built_scale', number of inputs and outputs: parseAttrs failed" +
                        std::string(GetParam() == 7 ? "" : ": asked to fail: so")));
  EXPECT_THAT(error_of([] { bind("built_scale", {meta({2}, k_dtype_of<double>)}); }),
              HasSubstr("op 'built_scale', inference: inferType failed"));
  EXPECT_THAT(error_of([] { bind("built_scale", {meta({2}, {TARSIA_BOOL, 8, 1})}); }),
              HasSubstr("input 0 is of a dtype that this API does not have"));
  EXPECT_THAT(error_of([] { bind("built_csr", {meta({2, 2})}); }),
              HasSubstr("op 'built_csr', inference: inferSType failed"));
  EXPECT_THAT(error_of([] { bind("built_scale", {meta({std::int64_t{1} << 33})}); }),
              HasSubstr("an extent of 2^32 and more does not fit this API"));
}

TEST_P(MxnetOps, state_belongs_to_the_bound_op) {
  Array<float> x({1, 1, 1}), y({3}, {});
  const LeaksAllowed leaks(GetParam() != 11);
  auto bound = bind("built_sum", {meta({3})}, {{"start", of("10")}});
  for (float expected : {13.0f, 14.0f}) {
    run(*bound, {&x.tensor}, {&y.tensor});
    EXPECT_EQ(y.data[0], expected);
  }
  EXPECT_THAT(
      error_of([&] { run(*bound, {&x.tensor, &x.tensor, &x.tensor}, {&y.tensor}, {}, TARSIA_BACKWARD); }),
      HasSubstr("op 'built_sum', backward on the CPU: Backward failed"));
}

TEST_P(MxnetOps, mutable_inputs_have_no_gradient) {
  auto bound = bind("built_noise", {meta({2}), meta({2})}, {{"inputs", of("2")}});
  EXPECT_TRUE(bound->has_gradient(0));
  EXPECT_FALSE(bound->has_gradient(1));
}

TEST_P(MxnetOps, sparse_outputs_are_allocated_by_the_op) {
  tarsia_meta x_meta = meta({2, 3});
  x_meta.storage = TARSIA_CSR;
  auto bound = bind("built_csr", {x_meta});
  Array<float> values({1, 2});
  Array<std::int64_t> columns({0, 2}), starts({0, 1, 2});
  tarsia_sparse x{}, y{};
  for (tarsia_sparse* s : {&x, &y})
    s->whole = {}, s->whole.ndim = 2, s->whole.dtype = x_meta.dtype, s->whole.shape = x_meta.shape,
    s->whole.device = {TARSIA_CPU, 0};
  x.values = values.tensor, x.indices = columns.tensor, x.indptr = starts.tensor;
  run(*bound, {&x.whole}, {&y.whole});
  ASSERT_NE(y.made[0], nullptr);
  EXPECT_EQ(static_cast<float*>(y.values.data)[1], 4);
  EXPECT_EQ(static_cast<std::int64_t*>(y.indices.data)[1], 2);
  EXPECT_EQ(static_cast<std::int64_t*>(y.indptr.data)[2], 2);
  for (tarsia_storage* part : y.made) release(part);
}

}  // namespace
}  // namespace tarsia::registry
