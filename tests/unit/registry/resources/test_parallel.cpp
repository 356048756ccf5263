// Loops over the CPU's cores.
#include "registry/resources/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tarsia::registry {
namespace {

struct Counts {
  std::vector<std::atomic<int>> times;
  std::mutex mutex{};
  std::set<std::pair<std::int64_t, std::int64_t>> pieces{};
};

void count(void* with, std::int64_t begin, std::int64_t end) {
  auto& counts = *static_cast<Counts*>(with);
  for (std::int64_t i = begin; i < end; ++i) ++counts.times[static_cast<std::size_t>(i)];
  std::lock_guard lock(counts.mutex);
  counts.pieces.insert({begin, end});
}

TEST(Parallel, every_index_is_visited_once_in_pieces_of_the_grain) {
  for (const int n : {0, 1, 7, 1000, 12345}) {
    Counts counts{std::vector<std::atomic<int>>(static_cast<std::size_t>(n))};
    parallel(n, 100, count, &counts);
    for (const auto& times : counts.times) EXPECT_EQ(times, 1);
    EXPECT_EQ(counts.pieces.size(), static_cast<std::size_t>((n + 99) / 100));
    for (const auto& [begin, end] : counts.pieces) {
      EXPECT_EQ(begin % 100, 0);
      EXPECT_EQ(end, std::min<std::int64_t>(begin + 100, n));
    }
  }
}

TEST(Parallel, what_a_body_throws_is_thrown_when_no_body_runs_any_more) {
  static std::atomic<int> s_running{0};
  static std::atomic<bool> s_thrown{false};
  const auto body = [](void*, std::int64_t begin, std::int64_t) {
    ++s_running;
    if (begin == 3) {
      // Another thread is in a later body, which outlasts this one.
      while (parallel_threads() > 1 && s_running == 1) std::this_thread::yield();
      s_thrown = true;
      --s_running;
      throw std::runtime_error("the fourth");
    }
    if (begin > 3) {
      while (!s_thrown) std::this_thread::yield();
      for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    }
    --s_running;
  };
  for (int k = 0; k < 20; ++k) {
    s_thrown = false;
    try {
      parallel(64, 1, body, nullptr);
      FAIL();
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the fourth");
    }
    EXPECT_EQ(s_running, 0);
  }
}

TEST(Parallel, loops_inside_of_loops_and_beside_each_other) {
  const auto inner = [](void* with, std::int64_t begin, std::int64_t end) {
    *static_cast<std::atomic<std::int64_t>*>(with) += end - begin;
  };
  struct Both {
    std::atomic<std::int64_t> total{0};
    void (*inner)(void*, std::int64_t, std::int64_t);
  } both{{0}, inner};
  const auto outer = [](void* with, std::int64_t begin, std::int64_t end) {
    auto& b = *static_cast<Both*>(with);
    for (std::int64_t i = begin; i < end; ++i) parallel(100, 10, b.inner, &b.total);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int k = 0; k < 10; ++k) parallel(8, 1, outer, &both);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(both.total, 4 * 10 * 8 * 100);
}

// Waits for a flag. False if it does not come.
struct Flag {
  std::mutex mutex{};
  std::condition_variable changed{};
  bool is_set = false;
  void set() {
    const std::lock_guard lock(mutex);
    is_set = true;
    changed.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(20), [&] { return is_set; });
  }
};

TEST(Parallel, a_thread_that_is_free_helps_a_loop_that_began_beside_another) {
  if (parallel_threads() < 2) GTEST_SKIP() << "needs two cores";
  struct Both {
    Flag second_began, helped;
    std::atomic<bool> ok{true};
    std::thread::id first = std::this_thread::get_id(), second{};
  } both;
  // The second loop's thread begins with one of its two pieces, and stays there until another thread, which
  // the first loop may have had, has taken the other piece. Neither takes both.
  std::thread second([&] {
    const auto body = [](void* with, std::int64_t, std::int64_t) {
      auto& b = *static_cast<Both*>(with);
      const bool helps = std::this_thread::get_id() != b.second;
      (helps ? b.helped : b.second_began).set();
      if (!(helps ? b.second_began : b.helped).wait()) b.ok = false;
    };
    both.second = std::this_thread::get_id();
    parallel(2, 1, body, &both);
  });
  // The first loop's pieces keep its thread until the second loop is through, and its helper until that
  // begins.
  const auto body = [](void* with, std::int64_t, std::int64_t) {
    auto& b = *static_cast<Both*>(with);
    if (!(std::this_thread::get_id() == b.first ? b.helped : b.second_began).wait()) b.ok = false;
  };
  parallel(2, 1, body, &both);
  second.join();
  EXPECT_TRUE(both.ok);
}

TEST(Parallel, a_forked_child_has_threads_of_its_own) {
  Counts before{std::vector<std::atomic<int>>(1000)};
  parallel(1000, 10, count, &before);
  const pid_t child = fork();
  if (child == 0) {
    Counts counts{std::vector<std::atomic<int>>(1000)};
    parallel(1000, 10, count, &counts);
    bool all = true;
    for (const auto& times : counts.times) all &= times == 1;
    _exit(all ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace tarsia::registry
