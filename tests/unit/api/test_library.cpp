// Functions as C++ programs call them.
#include <gmock/gmock.h>
#include <tarsia/tarsia.h>

#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace {

using tarsia::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

class Functions : public testing::Test {
 protected:
  const tarsia::Library lib = tarsia::load(TARSIA_TEST_MODULES "/portable17.so");
};

TEST_F(Functions, a_result_becomes_what_it_is_stored_in) {
  const int number = lib["defaults"](1, 2, "four");
  EXPECT_EQ(number, 7);
  const int64_t wider = lib["total"](std::vector<Tensor>{tarsia::tensor<float>({1, 2})});
  EXPECT_EQ(wider, 2);
  EXPECT_EQ(lib["maybe"].call<std::optional<int>>(3), 4);
  EXPECT_EQ(lib["maybe"].call<std::optional<int>>(std::nullopt), std::nullopt);
  const Tensor x = tarsia::tensor<double>({1, 2, 3});
  lib["fill"](x, 2, 7);
  EXPECT_THAT(tarsia::to_vector<double>(x), ElementsAre(7, 7, 3));
  EXPECT_EQ(lib["defaults"].call<double>(1), 24);
}

TEST_F(Functions, a_number_keeps_its_sign) {
  EXPECT_THROW(lib["big"](-1), tarsia::ArgumentError);
  EXPECT_THROW(lib["big"](std::int64_t{-1}), tarsia::ArgumentError);
  EXPECT_EQ(lib["big"].call<std::uint64_t>(~std::uint64_t{0}), ~std::uint64_t{0});
  EXPECT_EQ(lib["big"].call<std::uint64_t>(1), 1u);
  EXPECT_EQ(lib["big"].call<double>(~std::uint64_t{0}), 18446744073709551615.0);
  EXPECT_EQ(lib["add8"].call<double>(-3, 1), -2);
}

TEST_F(Functions, a_result_of_the_c_interface_tells_the_sign_of_its_integers) {
  const tarsia::detail::Frame frame;
  tarsia_value result{};
  const tarsia_value one = tarsia_signed(1), ones[] = {one, one};
  ASSERT_EQ(tarsia_call(lib["big"].overloads().data(), 1, &one, 1, &result), 0);
  EXPECT_EQ(result.size, std::uint32_t{TARSIA_UNSIGNED});
  ASSERT_EQ(tarsia_call(lib["add8"].overloads().data(), 1, ones, 2, &result), 0);
  EXPECT_EQ(result.size, std::uint32_t{TARSIA_SIGNED});
  ASSERT_EQ(tarsia_call(lib["three"].overloads().data(), 1, nullptr, 0, &result), 0);
  ASSERT_EQ(result.kind, std::uint32_t{TARSIA_KIND_TUPLE});
  EXPECT_EQ(result.v[0].size, std::uint32_t{TARSIA_SIGNED});
}

TEST(Tensors, memory_of_devices_that_tarsia_does_not_know_is_refused) {
  const std::int64_t extent = 2;
  tarsia_storage* storage = nullptr;
  const tarsia_dtype dtype = tarsia::dtype<float>();
  EXPECT_EQ(tarsia_empty(&extent, 1, dtype, {10, 0}, &storage), int{TARSIA_ARGUMENT_VALUE});
  EXPECT_THAT(tarsia_last_error()->message, HasSubstr("DLPack's device type 10"));
  ASSERT_EQ(tarsia_empty(&extent, 1, dtype, {TARSIA_GPU_HOST, 0}, &storage), 0);
  EXPECT_EQ(storage->tensor->device.type, int{TARSIA_CPU});
  tarsia_storage_release(storage);
}

TEST(Abi, tells_its_version) {
  EXPECT_EQ(tarsia_abi_version(), std::uint32_t{TARSIA_ABI_VERSION});
}

TEST_F(Functions, texts_lists_tuples_and_tensors_outlive_the_call) {
  const std::string word = "a text too long to lie within a string";
  const std::string joined = lib["join"](word, word);
  EXPECT_THAT(joined, HasSubstr(word));
  const std::vector<std::string> words = lib["repeat"](std::vector<std::string>{word}, 2);
  EXPECT_THAT(words, ElementsAre(word, word));
  const std::tuple<int, std::string, std::vector<double>> three = lib["three"]();
  EXPECT_EQ(three, std::make_tuple(1, std::string("two"), std::vector<double>{3}));
  const std::pair<bool, float> two = lib["two"]();
  EXPECT_EQ(two, std::make_pair(true, 0.5f));
  const Tensor y = lib["doubled"](tarsia::tensor<float>({1, 2}));
  EXPECT_THAT(tarsia::to_vector<float>(y), ElementsAre(2, 4));
}

struct Pair {
  float a;
  int n;
};

TEST_F(Functions, plain_structs_go_in_and_out) {
  EXPECT_EQ(lib["of_pair"].call<float>(Pair{1.5f, 4}), 6);
  Pair pairs[] = {{1, 2}, {3, 4}};
  EXPECT_EQ(lib["of_pairs"].call<float>(&pairs[0], 2), 14);
  lib["change_pair"](&pairs[0]);
  EXPECT_EQ(pairs[0].n, 3);
  const Pair made = lib["make_pair"](2.5f, 7);
  EXPECT_EQ(made.a, 2.5f);
  EXPECT_EQ(made.n, 7);
  EXPECT_EQ(lib["no_pair"].call<std::optional<Pair>>(), std::nullopt);
  struct Other {
    double x;
    int y;
  };
  EXPECT_THROW(lib["of_pair"](Other{}), tarsia::ArgumentError);
  EXPECT_THROW(lib["of_pair"](1), tarsia::ArgumentError);
}

TEST_F(Functions, rows_of_structs_are_arrays_and_spans) {
  Pair pairs[] = {{1, 2}, {3, 4}};
  const Pair fixed[] = {{1, 2}, {3, 4}};
  const std::vector<Pair> many = {{1, 2}, {3, 4}, {5, 6}};
  EXPECT_EQ(lib["of_pairs"].call<float>(pairs, 2), 14);
  EXPECT_EQ(lib["of_pairs"].call<float>(fixed, 2), 14);
  EXPECT_EQ(lib["of_pairs"].call<float>(std::span(many), 3), 44);
  const float sum = lib["of_pairs"](fixed, 1);
  EXPECT_EQ(sum, 2);
  lib["change_pair"](pairs);
  lib["change_pair"].call(pairs);
  lib["change_pair"](std::span(pairs));
  EXPECT_EQ(pairs[0].n, 5);
  EXPECT_EQ(pairs[1].n, 4);
  EXPECT_THROW(lib["change_pair"](fixed), tarsia::ArgumentError) << "it writes";
  EXPECT_THROW(lib["change_pair"](std::span(many)), tarsia::ArgumentError);
  EXPECT_THROW(lib["of_pair"](pairs), tarsia::ArgumentError) << "it takes one";
  EXPECT_THROW(lib["of_pairs"](std::span<const Pair>(), 0), tarsia::ArgumentError);
}

TEST_F(Functions, a_struct_is_no_text) {
  const Pair fixed{1, 2};
  const auto expect_refused = [&](auto given) {
    try {
      lib["view"](given);
      ADD_FAILURE() << "it was taken";
    } catch (const tarsia::ArgumentError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("a struct of 8 bytes"));
    }
  };
  expect_refused(fixed);
  expect_refused(&fixed);
  expect_refused(std::span(&fixed, 1));
}

TEST_F(Functions, a_struct_that_goes_in_by_value_is_not_written_to) {
  const Pair fixed{1, 2};
  EXPECT_THROW(lib["change_pair"](fixed), tarsia::ArgumentError);
  EXPECT_EQ(fixed.n, 2);
  Pair pair{1, 2};
  lib["change_pair"](&pair);
  EXPECT_NE(pair.n, 2);
}

TEST_F(Functions, what_is_too_long_for_an_argument_is_refused_and_not_cut) {
  const Pair one{1, 2};
  constexpr size_t k_too_long = (size_t{1} << 32) + 1;  // nobody reads it
  const auto expect_refused = [&](auto long_one) {
    try {
      lib["of_pairs"](long_one, 1);
      ADD_FAILURE() << "it was taken";
    } catch (const tarsia::ArgumentError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("too long"));
    }
  };
  expect_refused(std::span(&one, k_too_long / sizeof one + 1));
  expect_refused(std::string_view("a", k_too_long));
}

TEST_F(Functions, arrays_and_complex_numbers_go_in_and_out) {
  const std::array<int, 2> swapped = lib["swapped"](std::array<int, 2>{1, 2});
  EXPECT_EQ(swapped, (std::array<int, 2>{2, 1}));
  const std::vector<int> list = lib["swapped"](std::vector<int>{3, 4});
  EXPECT_THAT(list, ElementsAre(4, 3));
  EXPECT_THROW(lib["swapped"](std::vector<int>{3}), tarsia::ArgumentError);
  EXPECT_THROW((lib["swapped"].call<std::array<int, 3>>(std::array<int, 2>{1, 2})), tarsia::ArgumentError);
  const std::complex<float> conjugated = lib["conjugated"](std::complex<double>(1, 2));
  EXPECT_EQ(conjugated, std::complex<float>(1, -2));
  const std::complex<double> wider = lib["conjugated"](3);
  EXPECT_EQ(wider, 3.0);
  EXPECT_THROW(lib["conjugated"](std::complex<double>(0, 1e300)), tarsia::ArgumentError);
  EXPECT_THROW(lib["conjugated"]("1"), tarsia::ArgumentError);
  EXPECT_THROW(lib["defaults"](std::complex<double>(1, 2)), tarsia::ArgumentError);
}

TEST(Spans, are_over_the_memory_of_tensors) {
  const tarsia::Library lib = tarsia::load(TARSIA_TEST_MODULES "/portable20.so");
  const Tensor x = tarsia::tensor<int>({1, 2, 3}), y = tarsia::tensor<float>({1, 2});
  const int extent = lib["extent"](x, y);
  EXPECT_EQ(extent, 3);
  EXPECT_THAT(tarsia::to_vector<float>(y), ElementsAre(1, 3));
  EXPECT_THROW(lib["extent"](x, tarsia::tensor<float>({1, 2, 3})), tarsia::ArgumentError);
  EXPECT_THROW(lib["extent"](y, y), tarsia::ArgumentError);
  EXPECT_THROW(lib["extent"](std::vector<int>{1}, y), tarsia::ArgumentError);
  int one = 1;
  EXPECT_THROW(lib["extent"](&one, y), tarsia::ArgumentError) << "a bare address has no size";
}

TEST_F(Functions, calls_within_calls_keep_their_results) {
  const std::string inner =
      lib["join"](std::string(lib["join"]("a", "b")), lib["join"].call<std::string>("c", "d"));
  EXPECT_THAT(inner, HasSubstr("a"));
  EXPECT_THAT(inner, HasSubstr("d"));
}

TEST_F(Functions, a_result_of_another_kind_is_an_error) {
  try {
    const std::string text = lib["defaults"](1);
    FAIL() << text;
  } catch (const tarsia::ArgumentError& e) {
    EXPECT_THAT(e.what(), HasSubstr("is not a string"));
  }
}

TEST_F(Functions, an_argument_that_comes_back_keeps_its_memory) {
  const Tensor kept = lib["same"](tarsia::tensor<float>({4, 5}));
  EXPECT_THAT(tarsia::to_vector<float>(kept), ElementsAre(4, 5));
  EXPECT_THAT(tarsia::to_vector<float>(lib["same"].call<Tensor>(tarsia::tensor<float>({6}))), ElementsAre(6));
}

std::string readable(const char* symbol) {
  char* name = nullptr;
  EXPECT_EQ(tarsia_readable_symbol(symbol, &name), TARSIA_OK);
  const std::string text = name;
  tarsia_free(name);
  return text;
}

TEST(Symbols, are_readable_without_what_compilers_append) {
  EXPECT_EQ(readable("_Z1fi"), "f(int)");
  EXPECT_EQ(readable("_Z1fi.cold"), "f(int)");
  EXPECT_EQ(readable("i"), "i");
}

TEST(Sources, have_suffixes_that_say_languages) {
  std::uint64_t n = 0;
  const tarsia_suffix* const all = tarsia_source_suffixes(&n);
  std::vector<std::tuple<std::string, std::string>> listed;
  for (std::uint64_t i = 0; i < n; ++i) listed.emplace_back(all[i].suffix, all[i].language);
  EXPECT_THAT(listed, testing::UnorderedElementsAre(std::tuple(".cu", "cuda"), std::tuple(".c", "c"),
                                                    std::tuple(".cc", "c++"), std::tuple(".cpp", "c++"),
                                                    std::tuple(".cxx", "c++"), std::tuple(".c++", "c++"),
                                                    std::tuple(".CPP", "c++"), std::tuple(".C", "c++")));
}

TEST(Sources, that_mention_cuda_are_told) {
  const std::string cuda = "#include <cuda_fp16.h>\n", comment = "// __shared__\nint x;";
  EXPECT_EQ(tarsia_mentions_cuda(cuda.data(), cuda.size()), 1);
  EXPECT_EQ(tarsia_mentions_cuda(comment.data(), comment.size()), 0);
  EXPECT_EQ(tarsia_mentions_cuda(cuda.data(), 3), 0);
}

}  // namespace
