// Hashes: the published value, and fields that cannot run into each other.
#include "base/hash.h"

#include <gtest/gtest.h>

namespace tarsia {
namespace {

TEST(Hash, is_blake2b_256) {
  // printf abc | b2sum -l 256
  EXPECT_EQ(hex(hash_bytes("abc")), "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
}

TEST(Hash, bytes_become_text) {
  EXPECT_EQ(hex(std::string_view("\0\xff", 2)), "00ff");
  EXPECT_EQ(base64(std::string_view("\0\xff\xfe", 3)), "AP/+");
  EXPECT_EQ(base64("a"), "YQ==");
  EXPECT_EQ(base64(""), "");
}

TEST(Hash, fields_do_not_run_into_each_other) {
  const auto two = [](std::string_view a, std::string_view b) {
    return Hasher("d").field(a).field(b).finish();
  };
  EXPECT_NE(two("ab", "c"), two("a", "bc"));
  EXPECT_NE(two("abc", ""), two("", "abc"));
  EXPECT_NE(Hasher("d").field("abc").finish(), two("abc", ""));
  EXPECT_EQ(two("ab", "c"), two("ab", "c"));
}

TEST(Hash, domains_and_types_count) {
  EXPECT_NE(Hasher("a").field("x").finish(), Hasher("b").field("x").finish());
  EXPECT_NE(Hasher("a").field(1).finish(), Hasher("a").field(2).finish());
  const Digest digest = hash_bytes("abc");
  EXPECT_EQ(Hasher("a").field(digest).finish(),
            Hasher("a").field(std::string_view(reinterpret_cast<const char*>(digest.data()), 32)).finish());
}

}  // namespace
}  // namespace tarsia
