// Memory between zones that an op must not write to.
#include "registry/check/watched_memory.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tarsia::registry {
namespace {

constexpr tarsia_device k_cpu{TARSIA_CPU, 0};

TEST(WatchedMemory, writes_within_are_fetched_and_writes_around_are_told) {
  const unsigned char content[] = {1, 2, 3, 4, 5};
  WatchedMemory memory(content, sizeof content, k_cpu, false);
  auto* const bytes = static_cast<unsigned char*>(memory.address());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 256, 0u);
  bytes[4] = 9;
  EXPECT_EQ(std::memcmp(memory.fetch(), "\1\2\3\4\11", 5), 0);
  EXPECT_STREQ(memory.damage(), "");
  bytes[5] ^= 1;
  EXPECT_STREQ(memory.damage(), "memory behind the last element is written to");
  bytes[5] ^= 1;
  bytes[-1] ^= 1;
  EXPECT_STREQ(memory.damage(), "memory before the first element is written to");
}

TEST(WatchedMemory, the_zones_of_two_are_not_alike) {
  const WatchedMemory one(nullptr, 0, k_cpu, false), other(nullptr, 0, k_cpu, false);
  EXPECT_NE(std::memcmp(one.address(), other.address(), 64), 0);
}

}  // namespace
}  // namespace tarsia::registry
