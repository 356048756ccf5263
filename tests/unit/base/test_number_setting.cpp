// Sizes from the environment: whole mebibytes, and nothing else.
#include "base/number_setting.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace tarsia {
namespace {

class SizeSetting : public testing::Test {
 protected:
  static constexpr const char* k_name = "TARSIA_TEST_SIZE_MB";
  void TearDown() override { ::unsetenv(k_name); }
  static std::uint64_t of(const char* text) {
    ::setenv(k_name, text, 1);
    return size_setting(k_name, 3);
  }
};

TEST_F(SizeSetting, whole_mebibytes_are_taken) {
  EXPECT_EQ(size_setting(k_name, 3), 3u << 20);
  EXPECT_EQ(of(""), 3u << 20);
  EXPECT_EQ(of("0"), 0u);
  EXPECT_EQ(of("4096"), std::uint64_t{4096} << 20);
  EXPECT_EQ(of("17592186044415"), 0xFFFFFFFFFFF00000u);
}

TEST_F(SizeSetting, what_is_no_size_is_an_error_that_names_the_variable_and_the_remedy) {
  for (const char* text :
       {"-1", "+1", " 1", "1 ", "4G", "0x10", "1.5", "many", "17592186044416", "99999999999999999999"}) {
    try {
      ADD_FAILURE() << text << " was taken for " << of(text);
    } catch (const ArgumentError& error) {
      EXPECT_EQ(error.code(), ErrorCode::argument_value);
      EXPECT_EQ(std::string(error.what()),
                "the environment variable TARSIA_TEST_SIZE_MB is '" + std::string(text) +
                    "', which is no size: set it to a whole number of mebibytes (3; 0 for no "
                    "limit), or unset it");
    }
  }
}

TEST_F(SizeSetting, numbers_have_a_unit_and_a_limit_of_their_own) {
  const auto number = [](const char* text) {
    ::setenv(k_name, text, 1);
    return number_setting({.variable = k_name,
                           .otherwise = 300,
                           .least = 1,
                           .most = 1000,
                           .what = "time",
                           .wanted = "a whole number of milliseconds"});
  };
  EXPECT_EQ(number(""), 300u);
  EXPECT_EQ(number("1"), 1u);
  EXPECT_EQ(number("1000"), 1000u);
  for (const char* wrong : {"0", "1001", "-1"}) {
    try {
      ADD_FAILURE() << wrong << " was taken for " << number(wrong);
    } catch (const ArgumentError& error) {
      EXPECT_EQ(std::string(error.what()),
                std::string("the environment variable TARSIA_TEST_SIZE_MB is '") + wrong +
                    "', which is no time: set it to a whole number of milliseconds, or unset it");
    }
  }
}

}  // namespace
}  // namespace tarsia
