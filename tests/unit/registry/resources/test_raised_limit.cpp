// The limit of a kernel's dynamic shared memory, from several threads.
#include "registry/resources/raised_limit.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

namespace tarsia::registry {
namespace {

TEST(RaisedLimit, it_never_falls_below_what_a_thread_raised_it_to) {
  constexpr unsigned k_rounds = 1000, k_threads = 3;
  std::atomic<unsigned> there{0}, too_low{0};
  RaisedLimit here;
  std::barrier meet(k_threads, [&]() noexcept { there = 0, here.start(0); });
  auto raise = [&](unsigned limit) {
    for (unsigned round = 0; round < k_rounds; ++round) {
      meet.arrive_and_wait();
      here.raise(limit, [&] { return there = limit, true; });
      if (there < limit || here.get() < limit) ++too_low;
    }
  };
  std::thread one(raise, 60), other(raise, 80);
  raise(100);
  one.join();
  other.join();
  EXPECT_EQ(too_low, 0u);
}

TEST(RaisedLimit, what_is_refused_is_not_remembered) {
  RaisedLimit limit;
  limit.start(48);
  EXPECT_TRUE(limit.raise(48, [] { return false; }));
  EXPECT_FALSE(limit.raise(49, [] { return false; }));
  EXPECT_EQ(limit.get(), 48u);
}

}  // namespace
}  // namespace tarsia::registry
