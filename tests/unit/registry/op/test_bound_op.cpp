// Binding and running ops of modules/ops.cc.
#include "registry/op/bound_op.h"

#include <atomic>
#include <cstdlib>
#include <limits>
#include <thread>

#include "registry/host_table.h"

#include "tests/unit/registry/op_fixture.h"

namespace tarsia::registry {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class BoundOps : public testing::Test {
 protected:
  static void SetUpTestSuite() { s_library = load("ops"); }
  static void TearDownTestSuite() {
    OpRegistry::instance().remove(*s_library);
    s_library = {};
  }
  static inline Ref<Library> s_library;
};

TEST_F(BoundOps, forward_runs) {
  EXPECT_THAT(map("test_relu", {-1, 2, -3, 4}), ElementsAre(0, 2, 0, 4));
}

TEST_F(BoundOps, tensors_of_more_than_32_dimensions_are_refused) {
  tarsia_meta large = meta({2});
  large.ndim = TARSIA_MAX_NDIM + 8;
  EXPECT_THAT(error_of([&] { bind("test_relu", {large}); }),
              HasSubstr("has 40 dimensions; ops take up to 32"));
  EXPECT_THAT(error_of([&] { bind("test_relu", {meta({2})}, {}, {large}); }),
              HasSubstr("has 40 dimensions; ops take up to 32"));
}

TEST_F(BoundOps, a_bound_op_runs_again_and_again) {
  auto bound = bind("test_relu", {meta({2})});
  for (float f : {-1.0f, 3.0f}) {
    Array<float> x({f, f}), y({2}, {});
    run(*bound, {&x.tensor}, {&y.tensor});
    EXPECT_EQ(y.data[1], f > 0 ? f : 0);
  }
}

TEST_F(BoundOps, backward_takes_gradients_inputs_outputs) {
  auto bound = bind("test_relu", {meta({3})});
  EXPECT_TRUE(bound->has_backward());
  Array<float> g({10, 20, 30}), x({-1, 2, 3}), y({0, 2, 3}), d({3}, {});
  run(*bound, {&g.tensor, &x.tensor, &y.tensor}, {&d.tensor}, {}, TARSIA_BACKWARD);
  EXPECT_THAT(d.data, ElementsAre(0, 20, 30));
}

TEST_F(BoundOps, no_backward_is_a_clear_error) {
  auto bound = bind("test_version", {meta({1})});
  EXPECT_FALSE(bound->has_backward());
  Array<float> a({1});
  ErrorCode code{};
  EXPECT_THAT(
      error_of([&] { run(*bound, {&a.tensor, &a.tensor, &a.tensor}, {&a.tensor}, {}, TARSIA_BACKWARD); },
               &code),
      HasSubstr("op 'test_version' has no backward for cpu"));
  EXPECT_EQ(code, ErrorCode::unsupported);
}

TEST_F(BoundOps, typed_attributes_reach_the_op) {
  EXPECT_THAT(map("test_scale", {1, 2}), ElementsAre(200002, 200004));
  std::vector<tarsia_value> axes{of(1), of(2), of(3)};
  EXPECT_THAT(map("test_scale", {1},
                  {{"scale", of(3)},
                   {"shift", of("5")},
                   {"axes", of(axes)},
                   {"mode", of("exact")},
                   {"flag", of("True")}}),
              ElementsAre(10301008));
  EXPECT_THAT(map("test_needs", {0}, {{"k", of("21")}}), ElementsAre(42));
}

TEST_F(BoundOps, bad_attributes_name_the_field) {
  auto error = [&](const Attrs& attrs) { return error_of([&] { map("test_scale", {1}, attrs); }); };
  EXPECT_THAT(error({{"scael", of(1)}}),
              HasSubstr("op 'test_scale' has no attribute 'scael'; it has 'scale', 'shift'"));
  EXPECT_THAT(error({{"X", of(1)}}), HasSubstr("; its inputs are 'x'"));  // an input may have been meant
  EXPECT_THAT(error({{"scale", of(11)}}), HasSubstr("attribute 'scale' has to be from -10 to 10, not 11"));
  EXPECT_THAT(error({{"scale", of("x")}}), HasSubstr("attribute 'scale' has to be a number, not 'x'"));
  EXPECT_THAT(error({{"shift", of(-1)}}), HasSubstr("attribute 'shift' has to be at least 0, not -1"));
  EXPECT_THAT(error({{"shift", of(1.5)}}), HasSubstr("attribute 'shift' has to be int64, not '1.5'"));
  EXPECT_THAT(error({{"mode", of("slow")}}),
              HasSubstr("attribute 'mode' has to be one of 'fast', 'exact', not 'slow'"));
  EXPECT_THAT(error({{"axes", of("(1, b)")}}),
              HasSubstr("attribute 'axes' has to be a whole number, not 'b'"));
  EXPECT_THAT(error({{"flag", of("maybe")}}),
              HasSubstr("attribute 'flag' has to be true or false, not 'maybe'"));
  EXPECT_THAT(error_of([&] { map("test_needs", {1}); }),
              HasSubstr("op 'test_needs' needs the attribute 'k' (how many)"));
}

TEST_F(BoundOps, undeclared_attributes_only_where_allowed) {
  EXPECT_THAT(map("test_any", {0}, {{"whatever", of("12345")}}), ElementsAre(5));
}

TEST_F(BoundOps, state_belongs_to_the_bound_op) {
  unsetenv("TARSIA_TEST_STATE_GONE");
  Array<float> x({0, 0}), y({2}, {});
  auto first = bind("test_counter", {meta({2})}), second = bind("test_counter", {meta({2})});
  run(*first, {&x.tensor}, {&y.tensor});
  run(*first, {&x.tensor}, {&y.tensor});
  EXPECT_EQ(y.data[0], 202);
  run(*second, {&x.tensor}, {&y.tensor});
  EXPECT_EQ(y.data[0], 201);
  first = {};
  EXPECT_STREQ(std::getenv("TARSIA_TEST_STATE_GONE"), "1");
}

TEST_F(BoundOps, state_is_safe_from_several_threads) {
  auto bound = bind("test_counter", {meta({1})});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Array<float> x({0}), y({0});
      for (int i = 0; i < 1000; ++i) run(*bound, {&x.tensor}, {&y.tensor});
    });
  for (std::thread& thread : threads) thread.join();
  Array<float> x({0}), y({0});
  run(*bound, {&x.tensor}, {&y.tensor});
  EXPECT_EQ(y.data[0], 4101);
}

TEST_F(BoundOps, an_op_with_state_may_call_itself_from_several_threads) {
  auto bound = bind("test_recursive", {meta({2}, k_dtype_of<std::int64_t>)});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Array<std::int64_t> x({5, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(&*bound))}),
          y({2}, {});
      for (int i = 0; i < 200; ++i) run(*bound, {&x.tensor}, {&y.tensor});
      EXPECT_EQ(y.data[0], 5);
    });
  for (std::thread& thread : threads) thread.join();
  Array<std::int64_t> x({0, 0}), y({2}, {});
  run(*bound, {&x.tensor}, {&y.tensor});
  EXPECT_EQ(y.data[1], 4 * 200 * 6 + 1);
}

TEST_F(BoundOps, several_inputs_outputs_and_an_optional_one) {
  Array<float> a({2, 3}, {1, 2, 3, 4, 5, 6}), b({3, 1}, {1, 1, 1}), c({2, 1}, {}), bias({100});
  Array<std::int64_t> rows({2}, {});
  auto bound = bind("test_matmul", {meta({2, 3}), meta({3, 1})});
  ASSERT_EQ(bound->bound().outputs().size(), 2u);
  EXPECT_EQ(describe(bound->bound().outputs()[1]), "int64 (2,)");
  run(*bound, {&a.tensor, &b.tensor, nullptr}, {&c.tensor, &rows.tensor});
  EXPECT_THAT(c.data, ElementsAre(6, 15));
  run(*bind("test_matmul", {meta({2, 3}), meta({3, 1}), meta({1})}), {&a.tensor, &b.tensor, &bias.tensor},
      {&c.tensor, &rows.tensor});
  EXPECT_THAT(c.data, ElementsAre(106, 115));
}

TEST_F(BoundOps, inference_reaches_unknown_inputs) {
  const Request request({meta({2, -1}), meta({3, 4})});
  tarsia_meta b = request.inputs[1];
  const BoundInfo info(OpRegistry::instance().find("test_matmul")->op(), request.request);
  EXPECT_EQ(describe(info.inputs()[0]), "float32 (2, 3)");
  EXPECT_EQ(describe(info.outputs()[0]), "float32 (2, 4)");
  // Elementwise ops infer from any side.
  tarsia_meta unknown = unknown_meta();
  const Request backwards({unknown}, {}, {meta({5})});
  const BoundInfo relu(OpRegistry::instance().find("test_relu")->op(), backwards.request);
  EXPECT_EQ(describe(relu.inputs()[0]), "float32 (5,)");
  (void)b;
}

TEST_F(BoundOps, conflicts_name_both_values) {
  EXPECT_THAT(
      error_of([] { bind("test_matmul", {meta({2, 3}), meta({3, 1})}, {}, {meta({2, 2}), unknown_meta()}); }),
      HasSubstr("op 'test_matmul': output 'c' is float32 (2, 2), but the op infers float32 (2, 1)"));
  EXPECT_THAT(error_of([] { bind("test_relu", {meta({2})}, {}, {meta({3})}); }),
              HasSubstr("op 'test_relu': input 'x' and output 'y' have to be of one shape and dtype, and are "
                        "float32 (2,) and float32 (3,)"));
  EXPECT_THAT(error_of([] { bind("test_matmul", {meta({2, 3}), meta({4, 1})}); }),
              HasSubstr("op 'test_matmul', inference: inner extents differ"));
}

TEST_F(BoundOps, what_inference_leaves_unknown_is_an_error) {
  EXPECT_THAT(error_of([] { bind("test_infer_nothing", {meta({2})}); }),
              HasSubstr("op 'test_infer_nothing', inference: output 'y' is left unknown: ? (?)"));
  EXPECT_THAT(error_of([] { bind("test_relu", {unknown_meta()}); }),
              HasSubstr("input 'x' is not fully known"));
}

TEST_F(BoundOps, wrong_numbers_of_inputs_are_named) {
  EXPECT_THAT(error_of([] { bind("test_relu", {}); }), HasSubstr("op 'test_relu' takes 1 input, not 0"));
  EXPECT_THAT(error_of([] { bind("test_matmul", {meta({1, 1})}); }),
              HasSubstr("op 'test_matmul' takes 2 to 3 inputs, not 1"));
  EXPECT_THAT(error_of([] { bind("test_relu", {meta({1})}, {}, {meta({1}), meta({1})}); }),
              HasSubstr("has 1 outputs, not 2"));
}

TEST_F(BoundOps, variadic_inputs_and_counted_outputs) {
  Array<float> a({1, 2}), b({3}), y({3}, {}), p({1}, {}), q({1}, {}), r({1}, {});
  run(*bind("test_concat", {meta({2}), meta({1})}), {&a.tensor, &b.tensor}, {&y.tensor});
  EXPECT_THAT(y.data, ElementsAre(1, 2, 3));
  run(*bind("test_split", {meta({3})}, {{"parts", of(3)}}), {&y.tensor}, {&p.tensor, &q.tensor, &r.tensor});
  EXPECT_EQ(r.data[0], 3);
}

TEST_F(BoundOps, the_implementation_is_chosen_by_predicate_and_priority) {
  EXPECT_EQ(map("test_choice", std::vector<float>(10))[0], 1);
  EXPECT_EQ(map("test_choice", std::vector<float>(11))[0], 2);
  EXPECT_EQ(map("test_choice", std::vector<float>(101))[0], 3);
}

TEST_F(BoundOps, a_missing_device_is_a_clear_error) {
  ErrorCode code{};
  EXPECT_THAT(error_of([] { bind("test_gpu_only", {meta({1})}); }, &code),
              HasSubstr("op 'test_gpu_only' has no forward for cpu, only for gpu"));
  EXPECT_EQ(code, ErrorCode::unsupported);
  const Request request({meta({1})}, {}, {}, {TARSIA_GPU, 0});
  EXPECT_THAT(error_of([&] { new BoundOp(OpRegistry::instance().find("test_relu"), request.request); }),
              HasSubstr("op 'test_relu' has no forward for gpu, only for cpu"));
}

TEST_F(BoundOps, exceptions_name_the_op_and_keep_their_class) {
  ErrorCode code{};
  EXPECT_THAT(error_of([] { map("test_throws", {1}); }, &code),
              testing::MatchesRegex("op 'test_throws', forward on the CPU: too far \\(.*ops\\.cc:[0-9]+\\)"));
  EXPECT_EQ(static_cast<int>(code), TARSIA_OP_INDEX_ERROR);
  EXPECT_THAT(
      error_of([] { bind("test_infer_fails", {meta({1})}); }, &code),
      testing::MatchesRegex("op 'test_infer_fails', inference: no such shape \\(.*ops\\.cc:[0-9]+\\)"));
  EXPECT_EQ(static_cast<int>(code), TARSIA_OP_VALUE_ERROR);
  EXPECT_THAT(error_of(
                  [] {
                    Array<std::int64_t> x({1, 2}), y({2}, {});
                    run(*bind("test_relu", {meta({2}, k_dtype_of<std::int64_t>)}), {&x.tensor}, {&y.tensor});
                  },
                  &code),
              HasSubstr("dtype int64 is none of (float, double)"));
  EXPECT_EQ(static_cast<int>(code), TARSIA_OP_TYPE_ERROR);
}

TEST_F(BoundOps, scratch_is_the_calls_own) {
  EXPECT_THAT(map("test_scratch", {1, 2}), ElementsAre(2, 4));
}

TEST_F(BoundOps, scratch_that_no_memory_holds_is_a_clear_error) {
  constexpr std::int64_t k_huge = std::numeric_limits<std::int64_t>::max();
  ErrorCode code{};
  auto error = [&](std::int64_t n, std::int64_t rows = 0) {
    return error_of([&] { map("test_scratch_of", {0}, {{"n", of(n)}, {"rows", of(rows)}}); }, &code);
  };
  EXPECT_THAT(
      error(-1),
      testing::MatchesRegex(
          "op 'test_scratch_of', forward on the CPU: scratch for -1 elements of 8 bytes is asked for: a "
          "number of elements is not negative \\(.*ops\\.cc:[0-9]+\\)"));
  EXPECT_EQ(static_cast<int>(code), TARSIA_OP_VALUE_ERROR);
  for (const std::int64_t n : {std::int64_t{1} << 61, k_huge / 2, k_huge})  // 8 n is 0, -8 and -8
    EXPECT_THAT(error(n), HasSubstr("op 'test_scratch_of', forward on the CPU: scratch for " +
                                    std::to_string(n) + " elements of 8 bytes"));
  EXPECT_THAT(error(std::int64_t{1} << 58), HasSubstr("scratch of 2305843009213693952 bytes"));
  EXPECT_EQ(static_cast<int>(code), TARSIA_OUT_OF_MEMORY);
  EXPECT_THAT(error(std::int64_t{1} << 31, std::int64_t{1} << 30),
              HasSubstr("scratch for a tensor of that shape is asked for, which no memory holds"));
  EXPECT_THAT(error(-2, 3), HasSubstr("extent cannot be negative"));
  EXPECT_THAT(map("test_scratch", {1, 2}), ElementsAre(2, 4));
}

TEST_F(BoundOps, write_requests_are_provided_around_ops_that_only_overwrite) {
  auto bound = bind("test_relu", {meta({2})});
  Array<float> x({-1, 5}), y({100, 100});
  run(*bound, {&x.tensor}, {&y.tensor}, {TARSIA_REQUEST_ADD});
  EXPECT_THAT(y.data, ElementsAre(100, 105));
  run(*bound, {&x.tensor}, {nullptr}, {TARSIA_REQUEST_NULL});
  run(*bound, {&x.tensor}, {&y.tensor}, {TARSIA_REQUEST_NULL});
  EXPECT_THAT(y.data, ElementsAre(100, 105));
  run(*bound, {&x.tensor}, {&x.tensor}, {TARSIA_REQUEST_INPLACE});
  EXPECT_THAT(x.data, ElementsAre(0, 5));
}

TEST_F(BoundOps, inplace_without_a_declared_pair_goes_through_a_copy) {
  Array<float> x({1, 2});
  run(*bind("test_scale", {meta({2})}, {{"axes", of("()")}}), {&x.tensor}, {&x.tensor},
      {TARSIA_REQUEST_INPLACE});
  EXPECT_THAT(x.data, ElementsAre(2, 4));
}

TEST_F(BoundOps, write_requests_reach_ops_that_honour_them) {
  auto bound = bind("test_requests", {meta({2})});
  Array<float> x({1, 2}), y({10, 10});
  run(*bound, {&x.tensor}, {&y.tensor}, {TARSIA_REQUEST_ADD});
  EXPECT_THAT(y.data, ElementsAre(12, 13));
  run(*bound, {&x.tensor}, {&y.tensor});
  EXPECT_THAT(y.data, ElementsAre(2, 3));
  run(*bound, {&x.tensor}, {nullptr}, {TARSIA_REQUEST_NULL});
}

TEST_F(BoundOps, gradients_can_be_added) {
  auto bound = bind("test_relu", {meta({2})});
  Array<float> g({10, 20}), x({-1, 2}), y({0, 2}), d({1, 1});
  run(*bound, {&g.tensor, &x.tensor, &y.tensor}, {&d.tensor}, {TARSIA_REQUEST_ADD}, TARSIA_BACKWARD);
  EXPECT_THAT(d.data, ElementsAre(1, 21));
}

TEST_F(BoundOps, check_names_what_does_not_match) {
  auto bound = bind("test_relu", {meta({2})});
  Array<float> x({1, 2}), y({2}, {}), wide({3}, {});
  Array<double> z({1, 2});
  EXPECT_THAT(
      error_of([&] { run(*bound, {&wide.tensor}, {&y.tensor}); }),
      HasSubstr("op 'test_relu', forward: input 'x' is float32 (3,); the op is bound to float32 (2,)"));
  EXPECT_THAT(error_of([&] { run(*bound, {&z.tensor}, {&y.tensor}); }),
              HasSubstr("input 'x' is float64 (2,)"));
  EXPECT_THAT(error_of([&] { run(*bound, {&x.tensor}, {&wide.tensor}); }),
              HasSubstr("output 'y' is float32 (3,)"));
  EXPECT_THAT(error_of([&] { run(*bound, {nullptr}, {&y.tensor}); }), HasSubstr("input 'x' is missing"));
  EXPECT_THAT(error_of([&] { run(*bound, {&x.tensor, &x.tensor}, {&y.tensor}); }),
              HasSubstr("takes 1 inputs and 1 outputs, not 2 and 1"));
  std::int64_t strides[] = {2};
  x.tensor.strides = strides;
  EXPECT_THAT(error_of([&] { run(*bound, {&x.tensor}, {&y.tensor}); }),
              HasSubstr("input 'x' is not contiguous"));
}

TEST_F(BoundOps, modules_can_call_registered_ops) {
  const tarsia_host* host = host_table();
  const Request request({meta({2})});
  tarsia_bound_op* bound = nullptr;
  ASSERT_EQ(host->op_bind("test_relu", &request.request, &bound), 0);
  Array<float> x({-1, 2}), y({2}, {});
  const tarsia_tensor *in = &x.tensor, *out = &y.tensor;
  tarsia_op_call call{};
  call.size = sizeof(call), call.n_inputs = call.n_outputs = 1, call.inputs = &in, call.outputs = &out;
  EXPECT_EQ(host->op_call(bound, &call), 0);
  EXPECT_THAT(y.data, ElementsAre(0, 2));
  host->op_release(bound);
  EXPECT_EQ(host->op_bind("test_nowhere", &request.request, &bound), TARSIA_NOT_FOUND);
}

}  // namespace
}  // namespace tarsia::registry
