// Work that the cache does behind its callers.
#include "cache/later.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/lock.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;

TEST(Later, does_all_in_order_and_tells_when_it_is_done) {
  std::string done;
  {
    Later later;
    EXPECT_TRUE(later.flush(0ms));
    std::latch begins(1);
    later.add([&] { begins.wait(); });
    for (char one = 'a'; one < 'e'; ++one) later.add([&done, one] { done += one; });
    EXPECT_FALSE(later.flush(1ms));
    begins.count_down();
    EXPECT_TRUE(later.flush(60s));
    EXPECT_EQ(done, "abcd");
    later.add([&] { done += 'e'; });
  }
  EXPECT_EQ(done, "abcde");
}

TEST(Later, does_work_at_once_where_much_is_pending) {
  Later later;
  std::latch ends(1);
  std::atomic<int> done{0};
  later.add([&] { ends.wait(); });
  int at_once = 0;
  for (int i = 0; i < 1000; ++i) {
    const int before = done;
    later.add([&] { ++done; });
    at_once += done != before;
  }
  EXPECT_GT(at_once, 0);
  EXPECT_LT(at_once, 1000);
  ends.count_down();
  EXPECT_TRUE(later.flush(60s));
  EXPECT_EQ(done, 1000);
}

TEST(Later, goes_on_behind_work_that_throws) {
  Later later;
  std::atomic<bool> done{false};
  later.add([] { throw std::runtime_error("no space is left"); });
  later.add([&] { done = true; });
  EXPECT_TRUE(later.flush(60s));
  EXPECT_TRUE(done);
}

TEST(Later, what_work_holds_is_gone_when_it_is_done) {
  Later later;
  const auto held = std::make_shared<int>(1);
  later.add([held] {});
  EXPECT_TRUE(later.flush(60s));
  EXPECT_EQ(held.use_count(), 1);
}

TEST(Later, a_forked_child_drops_its_parents_work_and_does_its_own) {
  const TemporaryDir dir;
  Later later;
  std::latch ends(1);
  std::atomic<int> parents{0};
  later.add([&] { ends.wait(); });
  // In the child nobody holds it, and it must not be waited for while the process is forked.
  auto lock = std::make_shared<FileLock>();
  ASSERT_EQ(lock->try_lock(dir / "lock"), FileLock::Status::locked);
  later.add([&parents, lock = std::move(lock)] { ++parents; });
  EXPECT_EQ(in_forked_child([&] {
              if (!later.flush(0ms)) return "something is pending";
              std::atomic<int> own{0};
              later.add([&] { ++own; });
              if (!later.flush(60s) || own != 1) return "its own work was not done";
              return parents == 0 ? "well" : "the parent's work was done";
            }),
            "well");
  ends.count_down();
  EXPECT_TRUE(later.flush(60s));
  EXPECT_EQ(parents, 1);
}

}  // namespace
}  // namespace tarsia::cache
