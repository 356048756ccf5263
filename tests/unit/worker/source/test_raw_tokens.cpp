// Questions about a text's tokens.
#include "jit/worker/source/raw_tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace tarsia::jit {
namespace {

TEST(RawTokens, a_long_identifier_stands_outside_of_strings_and_comments) {
  const std::string word(600, 'a');
  EXPECT_TRUE(has_long_identifier("int x = " + word + ";"));
  EXPECT_FALSE(has_long_identifier("const char* x = \"" + word + "\"; // " + word));
  EXPECT_FALSE(has_long_identifier("int " + word.substr(0, 400) + " = 1;"));
}

}  // namespace
}  // namespace tarsia::jit
