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

}  // namespace
