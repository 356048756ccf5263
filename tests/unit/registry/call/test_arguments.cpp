// Arguments against descriptors of every kind of parameter, functions' and kernels', on all devices: nothing
// is called.
#include <tarsia/c_api.h>

#include <array>

#include "registry/call/arguments.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

using testing::HasSubstr;

constexpr tarsia_dtype k_float32{TARSIA_FLOAT, 32, 1}, k_float16{TARSIA_FLOAT, 16, 1},
    k_int32{TARSIA_INT, 32, 1}, k_uint64{TARSIA_UINT, 64, 1}, k_float4{TARSIA_FLOAT, 32, 4},
    k_float2{TARSIA_FLOAT, 32, 2}, k_complex64{TARSIA_COMPLEX, 64, 1};

tarsia_type type(tarsia_kind kind, tarsia_dtype dtype = {}, std::uint8_t flags = 0) {
  return {static_cast<std::uint8_t>(kind), flags, 0, dtype, nullptr};
}
tarsia_type pointer(tarsia_dtype dtype = k_float32, std::uint8_t flags = 0) {
  return type(TARSIA_KIND_POINTER, dtype, flags);
}
const tarsia_type k_stream = type(TARSIA_KIND_STREAM);
const tarsia_type k_int = type(TARSIA_KIND_INT, k_int32);

tarsia_value pointer_to(void* address) {
  tarsia_value v{};
  v.kind = TARSIA_KIND_POINTER;
  v.p = address;
  return v;
}
tarsia_value stream(std::uintptr_t handle) {
  tarsia_value v{};
  v.kind = TARSIA_KIND_STREAM;
  v.p = reinterpret_cast<void*>(handle);
  return v;
}
tarsia_value bytes(const char* text, std::uint32_t size) {
  tarsia_value v{};
  v.kind = TARSIA_KIND_STRING;
  v.s = text;
  v.size = size;
  return v;
}

/// What matching gave: the values, or the error's text.
struct Matched {
  std::vector<tarsia_value> values;
  std::string error;
  ErrorCode code{};
  int gpu = -1;
};

class Arguments : public testing::Test {
 protected:
  /// Against a function whose last `n_defaults` parameters may be left out.
  Matched function(std::vector<tarsia_type> types, std::vector<tarsia_value> args, std::uint32_t flags = 0,
                   std::uint32_t n_defaults = 0) {
    const auto params = named(types);
    tarsia_function f{};
    f.size = sizeof f;
    f.flags = flags;
    f.name = f.signature = "f";
    f.location = "";
    f.n_params = static_cast<std::uint32_t>(params.size());
    f.n_required = f.n_params - n_defaults;
    f.params = params.data();
    const tarsia_function* const only = &f;
    return matched([&](ValueFace& face, tarsia_value*& values, std::uint32_t& n) {
      match(face, {&only, 1}, args, values, n);
    });
  }
  Matched kernel(std::vector<tarsia_type> types, std::vector<std::uint32_t> sizes,
                 std::vector<tarsia_value> args) {
    const auto params = named(types);
    tarsia_kernel k{};
    k.size = sizeof k;
    k.name = k.signature = "k";
    k.location = "";
    k.n_params = static_cast<std::uint32_t>(params.size());
    k.params = params.data();
    k.param_sizes = sizes.data();
    return matched([&](ValueFace& face, tarsia_value*& values, std::uint32_t& n) {
      match(face, k, args, values);
      n = k.n_params;
    });
  }

 private:
  static std::vector<tarsia_param> named(const std::vector<tarsia_type>& types) {
    static constexpr std::array k_names{"a", "b", "c", "d"};
    std::vector<tarsia_param> params;
    for (size_t i = 0; i < types.size(); ++i) params.push_back({k_names.at(i), types[i]});
    return params;
  }
  template <class Match>
  Matched matched(Match match) {
    Matched found;
    ValueFace face;
    tarsia_value* values = nullptr;
    std::uint32_t n = 0;
    try {
      match(face, values, n);
      found.values.assign(values, values + n);
      found.gpu = face.gpu();
    } catch (const Error& error) {
      found.error = error.what();
      found.code = error.code();
    }
    return found;
  }

  CallFrame m_frame{tarsia_device{TARSIA_CPU, 0}};
};

constexpr std::uint32_t k_cuda = TARSIA_FUNCTION_SOURCE_HAS_CUDA,
                        k_takes_stream = TARSIA_FUNCTION_SOURCE_HAS_CUDA | TARSIA_FUNCTION_TAKES_STREAM;

TEST_F(Arguments, pointers_of_a_call_share_one_device) {
  Array<float> x({1}), y({1});
  x.tensor.device = {TARSIA_GPU, 1};
  y.tensor.device = {TARSIA_GPU, 2};
  EXPECT_EQ(function({pointer(), pointer()}, {of(x.tensor), of(x.tensor)}, k_cuda).gpu, 1);
  const Matched apart = function({pointer(), pointer()}, {of(x.tensor), of(y.tensor)}, k_cuda);
  EXPECT_THAT(apart.error,
              HasSubstr("argument 'b' (2 of 2) must be on GPU 1 like the tensors before it, got a tensor "
                        "of float32, shape (1,), on GPU 2"));
  EXPECT_EQ(apart.code, ErrorCode::argument_value);
  y.tensor.device = {TARSIA_CPU, 0};
  EXPECT_THAT(function({pointer(), pointer()}, {of(y.tensor), of(x.tensor)}, k_cuda).error,
              HasSubstr("must be on the CPU like the tensors before it"));
  // Declared to be on the CPU, one may differ from the others.
  const tarsia_type on_cpu = pointer(k_float32, TARSIA_TYPE_CPU);
  EXPECT_EQ(function({on_cpu, pointer()}, {of(y.tensor), of(x.tensor)}, k_cuda).error, "");
  EXPECT_THAT(function({pointer(), k_stream}, {of(y.tensor)}, k_takes_stream).error,
              HasSubstr("must be on a GPU, since the function takes a stream, got"));
  // Tensors tell their own device.
  EXPECT_EQ(function({type(TARSIA_KIND_TENSOR), pointer()}, {of(x.tensor), of(y.tensor)}, k_cuda).gpu, 1);
}

TEST_F(Arguments, streams_are_the_current_one_of_the_tensors_gpu_unless_given) {
  Array<float> x({1});
  x.tensor.device = {TARSIA_GPU, 3};
  set_thread_stream(3, reinterpret_cast<void*>(0x33));
  const Matched left_out = function({k_stream, pointer(), k_int}, {of(x.tensor), of(5)}, k_takes_stream);
  ASSERT_EQ(left_out.values.size(), 3u) << left_out.error;
  EXPECT_EQ(left_out.values[0].p, reinterpret_cast<void*>(0x33));
  EXPECT_EQ(left_out.values[2].i, 5);
  const Matched given =
      function({k_stream, pointer(), k_int}, {stream(0x44), of(x.tensor), of(5)}, k_takes_stream);
  ASSERT_EQ(given.values.size(), 3u) << given.error;
  EXPECT_EQ(given.values[0].p, reinterpret_cast<void*>(0x44));
  // C++ would not see a stream behind a default argument that is left out.
  EXPECT_THAT(
      function({pointer(), k_int, k_stream}, {of(x.tensor)}, k_takes_stream, 2).error,
      HasSubstr("argument 'b' (2 of 3) is left out, so that the caller's current stream cannot be given"));
  set_thread_stream(3, nullptr);
  EXPECT_EQ(function({pointer(), k_int, k_stream}, {of(x.tensor)}, k_takes_stream, 2).values.size(), 1u);
}

TEST_F(Arguments, elements_may_be_vectors_of_scalars) {
  Array<float> x({2, 4}, {});
  EXPECT_EQ(function({pointer(k_float4)}, {of(x.tensor)}).error, "");
  Array<float> y({2, 6}, {});
  EXPECT_THAT(function({pointer(k_float4)}, {of(y.tensor)}).error,
              HasSubstr("must have a last dimension that is a multiple of 4 (float32x4), got a tensor"));
  Array<double> d({4});
  EXPECT_THAT(function({pointer(k_float4)}, {of(d.tensor)}).error, HasSubstr("must be a float32x4 tensor"));
  Array<double> z({4});
  z.tensor.dtype = k_complex64;
  EXPECT_EQ(function({pointer(k_float2)}, {of(z.tensor)}).error, "");
  // A vector is read as a whole.
  x.tensor.byte_offset = 4;
  EXPECT_THAT(function({pointer(k_float4)}, {of(x.tensor)}).error,
              HasSubstr("must be aligned to its elements"));
  EXPECT_EQ(function({pointer({TARSIA_ANY_DTYPE, 0, 1})}, {of(x.tensor)}).error, "");
}

TEST_F(Arguments, a_bare_address_is_taken_as_it_is) {
  int x = 0;
  const Matched taken = function({pointer()}, {pointer_to(&x)});
  ASSERT_EQ(taken.values.size(), 1u);
  EXPECT_EQ(taken.values[0].p, &x);
  EXPECT_EQ(kernel({pointer()}, {8}, {pointer_to(&x)}).values.at(0).p, &x);
}

TEST_F(Arguments, read_only_tensors_go_to_const_parameters_alone) {
  Array<float> x({2});
  tarsia_value borrowed = of(x.tensor);
  borrowed.size = TARSIA_TENSOR_READ_ONLY;
  EXPECT_EQ(function({pointer(k_float32, TARSIA_TYPE_CONST)}, {borrowed}).values.at(0).p, x.tensor.data);
  const Matched refused = function({pointer()}, {borrowed});
  EXPECT_THAT(refused.error,
              HasSubstr("argument 'a' (1 of 1) must be writable, since the function writes to it"));
  EXPECT_EQ(refused.code, ErrorCode::argument_value);
  EXPECT_THAT(kernel({pointer()}, {8}, {borrowed}).error, HasSubstr("since the kernel writes to it"));
  const tarsia_type constant = type(TARSIA_KIND_TENSOR, {}, TARSIA_TYPE_CONST);
  EXPECT_EQ(function({constant}, {borrowed}).values.at(0).size, std::uint32_t{TARSIA_TENSOR_READ_ONLY});
  EXPECT_EQ(function({constant}, {of(x.tensor)}).values.at(0).size, 0u);
  EXPECT_THAT(function({type(TARSIA_KIND_TENSOR)}, {borrowed}).error, HasSubstr("must be writable"));
}

TEST_F(Arguments, the_bits_of_an_unsigned_number_have_no_sign) {
  EXPECT_EQ(function({type(TARSIA_KIND_INT, k_uint64)}, {of(std::int64_t{-1})}).values.at(0).u,
            ~std::uint64_t{0});
  EXPECT_THAT(function({type(TARSIA_KIND_INT, {TARSIA_UINT, 32, 1})}, {of(-1)}).error,
              HasSubstr("must be an int from 0 to 4294967295 (uint32), got -1"));
}

TEST_F(Arguments, a_number_with_a_sign_is_no_unsigned_one) {
  tarsia_value minus = of(std::int64_t{-1});
  minus.size = TARSIA_SIGNED;
  EXPECT_THAT(function({type(TARSIA_KIND_INT, k_uint64)}, {minus}).error,
              HasSubstr("must be an int from 0 to 18446744073709551615 (uint64), got -1"));
  EXPECT_THAT(kernel({type(TARSIA_KIND_INT, k_uint64)}, {8}, {minus}).error, HasSubstr("got -1"));
  EXPECT_EQ(function({type(TARSIA_KIND_INT, {TARSIA_INT, 64, 1})}, {minus}).values.at(0).i, -1);
  tarsia_value large = minus;
  large.size = TARSIA_UNSIGNED;
  EXPECT_EQ(function({type(TARSIA_KIND_INT, k_uint64)}, {large}).values.at(0).u, ~std::uint64_t{0});
  EXPECT_THAT(function({type(TARSIA_KIND_INT, {TARSIA_INT, 64, 1})}, {large}).error,
              HasSubstr("got 18446744073709551615"));
  EXPECT_EQ(function({type(TARSIA_KIND_FLOAT, {TARSIA_FLOAT, 64, 1})}, {large}).values.at(0).f,
            18446744073709551615.0);
}

TEST_F(Arguments, an_integer_that_the_c_interface_makes_says_whether_it_has_a_sign) {
  const tarsia_type u64 = type(TARSIA_KIND_INT, k_uint64), i64 = type(TARSIA_KIND_INT, {TARSIA_INT, 64, 1});
  EXPECT_THAT(function({u64}, {tarsia_signed(-1)}).error, HasSubstr("got -1"));
  EXPECT_EQ(function({i64}, {tarsia_signed(INT64_MIN)}).values.at(0).i, INT64_MIN);
  EXPECT_EQ(function({u64}, {tarsia_signed(INT64_MAX)}).values.at(0).u, std::uint64_t{INT64_MAX});
  EXPECT_EQ(function({u64}, {tarsia_unsigned(UINT64_MAX)}).values.at(0).u, UINT64_MAX);
  EXPECT_THAT(function({i64}, {tarsia_unsigned(UINT64_MAX)}).error, HasSubstr("got 18446744073709551615"));
  // A caller that does not say it may mean a mask or a hash by these bits: they stay what they were.
  tarsia_value open = tarsia_unsigned(UINT64_MAX);
  open.size = TARSIA_SIGN_OF_PARAMETER;
  EXPECT_EQ(function({u64}, {open}).values.at(0).u, UINT64_MAX);
}

TEST_F(Arguments, half_types_have_their_own_range) {
  EXPECT_EQ(function({type(TARSIA_KIND_FLOAT, k_float16)}, {of(65519.0)}).error, "");
  const Matched large = function({type(TARSIA_KIND_FLOAT, k_float16)}, {of(65520)});
  EXPECT_THAT(large.error, HasSubstr("must be a number within the range of float16, got 65520"));
  EXPECT_EQ(large.code, ErrorCode::argument_value);
}

TEST_F(Arguments, kernels_take_integers_for_floats_as_long_as_nothing_is_lost) {
  const tarsia_type f = type(TARSIA_KIND_FLOAT, k_float32);
  EXPECT_EQ(kernel({f}, {4}, {of(1 << 24)}).values.at(0).f, 1 << 24);
  EXPECT_THAT(
      kernel({f}, {4}, {of((1 << 24) + 1)}).error,
      HasSubstr(
          "kernel k: argument 'a' (1 of 1) must be an int that float32 can hold exactly, or a float, got "
          "16777217"));
  EXPECT_EQ(function({f}, {of((1 << 24) + 1)}).error, "");
}

TEST_F(Arguments, kernels_take_structs_by_their_bytes) {
  const tarsia_type s = type(TARSIA_KIND_NONE);
  for (const tarsia_kind kind : {TARSIA_KIND_STRING, TARSIA_KIND_STRUCT, TARSIA_KIND_CONST_STRUCT}) {
    tarsia_value given = bytes("abc", 3);
    given.kind = kind;
    EXPECT_EQ(kernel({s}, {3}, {given}).values.at(0).size, 3u);
  }
  EXPECT_THAT(kernel({s}, {3}, {bytes("abcd", 4)}).error,
              HasSubstr("must have the 3 bytes of its C++ type, got the string 'abcd'"));
  EXPECT_THAT(kernel({s}, {3}, {of(1)}).error,
              HasSubstr("must be a struct of 3 bytes, in a string, got the int 1"));
  EXPECT_THAT(kernel({type(TARSIA_KIND_NONE, {}, TARSIA_TYPE_REFERENCE)}, {8}, {bytes("12345678", 8)}).error,
              HasSubstr("is a reference, which nothing outside of the GPU can give"));
  EXPECT_THAT(kernel({type(TARSIA_KIND_NONE, {}, TARSIA_TYPE_NOT_COPYABLE)}, {1}, {bytes("a", 1)}).error,
              HasSubstr("copy constructor"));
}

TEST_F(Arguments, kernels_want_gpu_memory_and_all_their_arguments) {
  Array<float> x({1});
  EXPECT_THAT(kernel({pointer()}, {8}, {of(x.tensor)}).error,
              HasSubstr("must be on a GPU, where the kernel runs, got a tensor"));
  x.tensor.device = {TARSIA_GPU, 2};
  EXPECT_EQ(kernel({pointer()}, {8}, {of(x.tensor)}).gpu, 2);
  EXPECT_EQ(kernel({pointer(k_float32, TARSIA_TYPE_OPTIONAL)}, {8}, {none()}).values.at(0).p, nullptr);
  EXPECT_THAT(kernel({pointer(), k_int}, {8, 4}, {of(x.tensor)}).error,
              HasSubstr("argument 'b' (2 of 2) is missing"));
}

TEST_F(Arguments, many_arguments_and_long_lists_find_room) {
  const tarsia_type element = type(TARSIA_KIND_INT, k_int32);
  tarsia_type list = type(TARSIA_KIND_LIST);
  list.elements = &element;
  list.n_elements = 1;
  std::vector<tarsia_value> items;
  for (int i = 0; i < 1000; ++i) items.push_back(of(i));
  const Matched taken = function({list, list}, {of(items), of(items)});
  ASSERT_EQ(taken.values.size(), 2u) << taken.error;
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(taken.values[1].v[i].i, i);
  items[700] = of("x");
  EXPECT_THAT(function({list, list}, {of(items), of(items)}).error,
              HasSubstr("argument 'a' (1 of 2) item 700 must be an int, got the string 'x'"));
}

}  // namespace
}  // namespace tarsia::registry
