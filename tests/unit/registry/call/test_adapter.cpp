// Every parameter and result type, through libraries that the build's compiler made in four standards.
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

using testing::HasSubstr;

class Adapter : public testing::TestWithParam<const char*> {
 protected:
  Ref<Library> library = load(GetParam());
  tarsia_value call(const std::string& name, std::vector<tarsia_value> args = {}) {
    return Call(*library, name, args).result;
  }
  std::string text(const std::string& name, std::vector<tarsia_value> args = {}) {
    Call call(*library, name, args);
    EXPECT_EQ(call.result.kind, TARSIA_KIND_STRING);
    return std::string(call.result.s, call.result.size);
  }
  bool is_17() const { return std::string(GetParam()) > "portable14"; }
};
INSTANTIATE_TEST_SUITE_P(Standards, Adapter,
                         testing::Values("portable11", "portable14", "portable17", "portable20"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(Adapter, scalars_go_in_and_out) {
  EXPECT_EQ(call("t::negate", {of(true)}).i, 0);
  EXPECT_EQ(call("t::negate", {of(false)}).kind, TARSIA_KIND_BOOL);
  EXPECT_EQ(call("t::add8", {of(100), of(27)}).i, 127);
  EXPECT_EQ(call("t::add8", {of(-100), of(-28)}).i, -128);
  EXPECT_EQ(call("t::big", {of(std::int64_t{-1})}).u, ~std::uint64_t{0});
  EXPECT_EQ(call("t::sum_all", std::vector<tarsia_value>(11, of(5))).i, 55);
  EXPECT_EQ(call("t::half_of", {of(5)}).f, 2.5);
  EXPECT_EQ(call("t::third_of", {of(1.5)}).f, 0.5);
  EXPECT_EQ(call("t::long_double", {of(1.5)}).f, 2.5);
  EXPECT_EQ(call("t::from_enum", {of(1), of(8)}).i, 18);
  EXPECT_EQ(call("t::to_enum").i, 8);
  EXPECT_EQ(call("t::no_arguments").i, 42);
}

TEST_P(Adapter, strings_go_in_and_out) {
  EXPECT_EQ(text("t::shout", {of("hello")}), "hello!");
  EXPECT_EQ(call("t::nothing").kind, TARSIA_KIND_NONE);
  EXPECT_EQ(text("t::join", {of("a"), of("b")}), "a+b");
  if (is_17()) {
    EXPECT_EQ(text("view", {of("abc")}), "bc");
  }
}

TEST_P(Adapter, strings_keep_nul_bytes) {
  tarsia_value v = of("ab");
  v.s = "a\0b";
  v.size = 3;
  EXPECT_EQ(text("t::join", {v, of("")}), std::string("a\0b+", 4));
}

TEST_P(Adapter, pointers_reach_the_elements) {
  Array<float> x({1, 2, 3});
  EXPECT_EQ(call("t::sum", {of(x.tensor), of(3)}).f, 6);
  Array<double> y({0, 0});
  call("t::fill", {of(y.tensor), of(2), of(7.5)});
  EXPECT_THAT(y.data, testing::ElementsAre(7.5, 7.5));
  EXPECT_EQ(call("t::address", {of(x.tensor)}).u, reinterpret_cast<std::uint64_t>(x.data.data()));
  x.tensor.byte_offset = 4;
  EXPECT_EQ(call("t::sum", {of(x.tensor), of(2)}).f, 5);
  EXPECT_EQ(call("t::on_cpu", {of(x.tensor)}).i, 2);
}

TEST_P(Adapter, default_arguments_may_be_left_out) {
  const tarsia_function* f = functions_named(*library, "t::defaults").at(0);
  EXPECT_EQ(f->n_required, 1u);
  EXPECT_EQ(f->n_params, 3u);
  EXPECT_EQ(call("t::defaults", {of(1)}).i, 24);
  EXPECT_EQ(call("t::defaults", {of(1), of(2)}).i, 6);
  EXPECT_EQ(call("t::defaults", {of(1), of(2), of("12345")}).i, 8);
}

TEST_P(Adapter, overloads_are_chosen_by_the_arguments) {
  Array<float> f({1});
  Array<double> d({1});
  EXPECT_EQ(call("t::overloaded", {of(f.tensor)}).i, 32);
  EXPECT_EQ(call("t::overloaded", {of(d.tensor)}).i, 64);
  EXPECT_EQ(call("t::overloaded", {of(1)}).i, 0);
  const std::string error = error_of([&] { call("t::overloaded", {of("x")}); });
  EXPECT_THAT(error, HasSubstr("t::overloaded: no overload fits"));
  EXPECT_THAT(error, HasSubstr("const float64*"));
}

TEST_P(Adapter, lists_and_tuples_go_in_and_out) {
  std::vector<tarsia_value> words{of("a"), of("bc")};
  {
    Call c(*library, "t::repeat", {of(words), of(2)});
    ASSERT_EQ(c.result.kind, TARSIA_KIND_LIST);
    ASSERT_EQ(c.result.size, 4u);
    EXPECT_STREQ(c.result.v[3].s, "bc");
  }
  std::vector<tarsia_value> bits{of(true), of(false)};
  {
    Call c(*library, "t::flip", {of(bits)});
    ASSERT_EQ(c.result.size, 2u);
    EXPECT_EQ(c.result.v[0].i, 0);
    EXPECT_EQ(c.result.v[1].i, 1);
  }
  {
    Call c(*library, "t::three", {});
    ASSERT_EQ(c.result.kind, TARSIA_KIND_TUPLE);
    ASSERT_EQ(c.result.size, 3u);
    EXPECT_EQ(c.result.v[0].i, 1);
    EXPECT_STREQ(c.result.v[1].s, "two");
    EXPECT_EQ(c.result.v[2].v[0].f, 3.0);
  }
  Call c(*library, "t::two", {});
  EXPECT_EQ(c.result.v[0].kind, TARSIA_KIND_BOOL);
  EXPECT_EQ(c.result.v[1].f, 0.5);
  const tarsia_type& type = functions_named(*library, "t::three")[0]->result;
  ASSERT_EQ(type.n_elements, 3);
  EXPECT_EQ(type.elements[2].kind, TARSIA_KIND_LIST);
  EXPECT_EQ(type.elements[2].elements->kind, TARSIA_KIND_FLOAT);
}

TEST_P(Adapter, tensors_go_in_and_out) {
  Array<float> x({2, 2}, {1, 2, 3, 4});
  tarsia_storage* storage;
  {
    Call c(*library, "t::doubled", {of(x.tensor)});
    ASSERT_EQ(c.result.kind, TARSIA_KIND_TENSOR);
    storage = c.result.storage;
  }
  EXPECT_EQ(storage->refs, 1);
  EXPECT_EQ(storage->tensor->shape[1], 2);
  EXPECT_EQ(static_cast<float*>(storage->tensor->data)[3], 8);
  release(storage);
  EXPECT_EQ(call("t::same", {of(x.tensor)}).kind, TARSIA_KIND_ARGUMENT);
  EXPECT_EQ(call("t::same", {of(x.tensor)}).t, &x.tensor);
  std::vector<tarsia_value> shape{of(3), of(5)}, tensors{of(x.tensor), of(x.tensor)};
  storage = call("t::make", {of(shape)}).storage;
  EXPECT_EQ(storage->tensor->shape[1], 5);
  release(storage);
  EXPECT_EQ(call("t::total", {of(tensors)}).i, 8);
}

TEST_P(Adapter, optionals_may_be_absent) {
  if (!is_17()) return;
  EXPECT_EQ(call("maybe", {of(1)}).i, 2);
  EXPECT_EQ(call("maybe", {none()}).kind, TARSIA_KIND_NONE);
  EXPECT_EQ(text("optional_text", {of("x")}), "x");
  Array<float> x({2, 3}, {});
  EXPECT_EQ(call("maybe_tensor", {of(x.tensor)}).i, 2);
  EXPECT_EQ(call("maybe_tensor", {none()}).i, -1);
}

TEST_P(Adapter, streams_are_the_current_one_unless_given) {
  set_thread_stream(0, reinterpret_cast<void*>(0x1234));
  EXPECT_EQ(functions_named(*library, "t::stream_value")[0]->flags & TARSIA_FUNCTION_TAKES_STREAM,
            TARSIA_FUNCTION_TAKES_STREAM);
  CallFrame frame({TARSIA_CPU, 0});
  tarsia_value stream{};
  stream.kind = TARSIA_KIND_STREAM;
  stream.p = reinterpret_cast<void*>(0x5678);
  for (const char* name : {"t::stream_value", "t::stream_class"}) {
    tarsia_value result{};
    ASSERT_EQ(functions_named(*library, name)[0]->call(&stream, 1, &result), 0);
    EXPECT_EQ(result.u, 0x5678u);
  }
  set_thread_stream(0, nullptr);
}

TEST_P(Adapter, descriptors_tell_types) {
  auto param = [&](const char* name, int i) { return functions_named(*library, name).at(0)->params[i].type; };
  EXPECT_EQ(describe(param("t::sum", 0)), "const float32*");
  EXPECT_EQ(describe(param("t::add8", 1)), "int8");
  EXPECT_EQ(describe(param("t::half_pointer", 0)), "float16*");
  EXPECT_EQ(describe(param("t::half_pointer", 1)), "const bfloat16*");
  EXPECT_EQ(describe(param("t::on_gpu", 0)), "tarsia::gpu<float32>");
  EXPECT_EQ(describe(param("t::address", 0)), "const void*");
  EXPECT_EQ(param("t::doubled", 0).flags & TARSIA_TYPE_CONST, TARSIA_TYPE_CONST);
  EXPECT_EQ(param("t::same", 0).flags & TARSIA_TYPE_CONST, 0);
  EXPECT_STREQ(functions_named(*library, "t::sum")[0]->signature, "float32 t::sum(const float32*, int32)");
  EXPECT_THAT(functions_named(*library, "t::sum")[0]->location, HasSubstr("portable.cc:"));
  EXPECT_EQ(functions_named(*library, "t::no_arguments").size(), 1u);
}

TEST_P(Adapter, exceptions_arrive_with_their_class_and_text) {
  const std::pair<std::int32_t, const char*> expected[] = {
      {TARSIA_OP_ERROR, "runtime"},
      {TARSIA_OP_VALUE_ERROR, "invalid"},
      {TARSIA_OP_INDEX_ERROR, "range"},
      {TARSIA_OUT_OF_MEMORY, "std::bad_alloc"},
      {TARSIA_OP_TYPE_ERROR, "type"},
      {TARSIA_OP_VALUE_ERROR, "value"},
      {TARSIA_OP_ERROR, "an exception of type int"},
      {TARSIA_OP_ERROR, "custom"},
      {TARSIA_OP_ERROR, "text"},
      {TARSIA_OP_INDEX_ERROR, "length"},
      {TARSIA_ARGUMENT_VALUE, "a tensor's extent cannot be negative: -1"}};
  for (int kind = 0; kind < 11; ++kind) {
    ErrorCode code{};
    EXPECT_EQ(error_of([&] { call("t::fail", {of(kind)}); }, &code), expected[kind].second);
    EXPECT_EQ(static_cast<std::int32_t>(code), expected[kind].first) << kind;
  }
}

TEST_P(Adapter, scratch_never_overlaps) {
  EXPECT_EQ(text("t::use_scratch", {of(100)}), "fine");
  EXPECT_EQ(text("t::use_scratch", {of(100000)}), "fine");
  EXPECT_EQ(text("t::use_scratch", {of(0)}), "fine");
  EXPECT_THAT(error_of([&] { call("t::use_scratch", {of(-1)}); }),
              testing::HasSubstr("scratch of 18446744073709551615 bytes"));
}

TEST_P(Adapter, macros_of_the_user_do_no_harm) {
  EXPECT_EQ(call("smaller", {of(3), of(4)}).i, 3);
}

TEST_P(Adapter, wrong_arguments_name_the_place_and_what_is_wanted) {
  Array<float> f({1, 2, 3, 4});
  Array<double> d({1});
  EXPECT_THAT(
      error_of([&] { call("t::sum", {of(d.tensor), of(1)}); }),
      HasSubstr("t::sum: argument (1 of 2) must be a float32 tensor, got a tensor of float64, shape (1,), on "
                "the CPU; convert it"));
  EXPECT_THAT(error_of([&] { call("t::sum", {of(f.tensor)}); }), HasSubstr("argument (2 of 2) is missing"));
  EXPECT_THAT(error_of([&] { call("t::sum", {of(f.tensor), of(1), of(2)}); }),
              HasSubstr("takes 2 arguments, got 3"));
  EXPECT_THAT(error_of([&] { call("t::add8", {of(128), of(0)}); }),
              HasSubstr("must be an int from -128 to 127 (int8), got 128"));
  EXPECT_THAT(error_of([&] { call("t::negate", {of(2)}); }), HasSubstr("must be a bool, 0 or 1, got 2"));
  EXPECT_THAT(error_of([&] { call("t::negate", {of("x")}); }),
              HasSubstr("must be a bool, got the string 'x'\n  in bool t::negate(bool) at "));
  std::int64_t strides[] = {2};
  f.tensor.strides = strides;
  f.shape[0] = 2;
  EXPECT_THAT(error_of([&] { call("t::sum", {of(f.tensor), of(2)}); }),
              HasSubstr("must be contiguous, got a tensor of float32, shape (2,), on the CPU, strides (2,)"));
  f.tensor.strides = nullptr;
  f.tensor.data = nullptr;
  EXPECT_THAT(error_of([&] { call("t::sum", {of(f.tensor), of(2)}); }), HasSubstr("has no memory behind it"));
  EXPECT_THAT(error_of([&] { call("t::doubled", {of(f.tensor)}); }), HasSubstr("has no memory behind it"));
}

TEST_P(Adapter, memory_is_where_the_parameter_wants_it) {
  Array<float> x({1, 2});
  x.tensor.device = {TARSIA_GPU, 0};
  EXPECT_THAT(
      error_of([&] { call("t::sum", {of(x.tensor), of(2)}); }),
      HasSubstr(
          "must be on the CPU, got a tensor of float32, shape (2,), on GPU 0 (the source has no CUDA)"));
  EXPECT_THAT(error_of([&] { call("t::on_cpu", {of(x.tensor)}); }), HasSubstr("must be on the CPU"));
  x.tensor.device = {TARSIA_CPU, 0};
  EXPECT_THAT(error_of([&] { call("t::on_gpu", {of(x.tensor)}); }),
              HasSubstr("must be on a GPU, got a tensor"));
  constexpr std::int32_t k_vulkan = 7;
  x.tensor.device = {k_vulkan, 0};
  EXPECT_THAT(error_of([&] { call("t::sum", {of(x.tensor), of(2)}); }),
              HasSubstr("must be on the CPU or a CUDA GPU, got a tensor"));
  for (const std::int32_t everywhere : {TARSIA_GPU_MANAGED, TARSIA_GPU_HOST}) {
    x.tensor.device = {everywhere, 0};
    EXPECT_EQ(call("t::sum", {of(x.tensor), of(2)}).f, 3);
    EXPECT_EQ(call("t::on_cpu", {of(x.tensor)}).i, 1);
    call("t::on_gpu", {of(x.tensor)});
  }
}

}  // namespace
}  // namespace tarsia::registry
