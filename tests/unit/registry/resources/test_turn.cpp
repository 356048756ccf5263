// Turns of threads that use a state.
#include "registry/resources/turn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "registry/resources/call_context.h"
#include "tests/unit/base/forked_child.h"

namespace tarsia::registry {
namespace {

using testing::HasSubstr;

TEST(Turn, one_thread_at_a_time_has_it) {
  Turn turn;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        ASSERT_TRUE(turn.take("counts"));
        ++count;
        turn.give();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 80000);
}

TEST(Turn, a_thread_that_has_it_goes_on) {
  Turn turn;
  EXPECT_TRUE(turn.take("calls_itself"));
  EXPECT_FALSE(turn.take("calls_itself"));
  turn.give();
  EXPECT_TRUE(turn.take("calls_itself"));
  turn.give();
}

/// Each of n threads takes a turn of its own, then its neighbour's.
void run_in_a_circle(int n) {
  std::vector<Turn> turns(static_cast<size_t>(n));
  std::latch all_have_one(n);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < n; ++t)
    threads.emplace_back([&, t] {
      Turn &mine = turns[static_cast<size_t>(t)], &next = turns[static_cast<size_t>((t + 1) % n)];
      mine.take("mine");
      all_have_one.arrive_and_wait();
      try {
        next.take("next");
        next.give();
      } catch (const Error& e) {
        ++refused;
        EXPECT_THAT(e.what(), HasSubstr("op 'next': another thread uses its state and waits"));
      }
      mine.give();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 1);
}

TEST(Turn, threads_that_would_wait_for_each_other_are_told) {
  for (int round = 0; round < 100; ++round) {
    run_in_a_circle(2);
    run_in_a_circle(3);
    run_in_a_circle(5);
  }
}

TEST(Turn, a_wait_is_given_up_when_interrupted) {
  Turn mine, theirs;
  std::latch taken(1), given_up(1);
  std::atomic<bool> waits{false};
  std::thread other([&] {
    CallFrame frame({TARSIA_CPU, 0});
    frame.context().user = &waits;
    frame.context().interrupted = [](void* user) {  // it is asked while it waits
      static_cast<std::atomic<bool>*>(user)->store(true);
      static_cast<std::atomic<bool>*>(user)->notify_all();
      return 0;
    };
    theirs.take("theirs");
    taken.count_down();
    given_up.wait();
    // The thread that gave up waits for nobody any more, so this is no circle.
    EXPECT_NO_THROW(mine.take("mine"));
    waits = true;
    waits.notify_all();
    mine.give();
    theirs.give();
  });
  taken.wait();
  mine.take("mine");
  {
    CallFrame frame({TARSIA_CPU, 0});
    frame.context().interrupted = [](void*) { return 1; };
    EXPECT_THROW(theirs.take("theirs"), Interrupted);
  }
  given_up.count_down();
  waits.wait(false);
  mine.give();
  other.join();
  EXPECT_TRUE(theirs.take("theirs"));
  theirs.give();
}

TEST(Turn, a_forked_child_is_told_that_the_state_may_be_half_changed) {
  Turn turn, free;
  std::latch taken(1), forked(1);
  std::thread other([&] {
    turn.take("used");
    taken.count_down();
    forked.wait();
    turn.give();
  });
  taken.wait();
  free.take("mine");
  const std::string said = in_forked_child([&] {
    if (free.take("mine")) return std::string("it lost what it had");
    free.give();
    free.take("mine");
    try {
      turn.take("used");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("taken");
  });
  forked.count_down();
  other.join();
  EXPECT_THAT(said, HasSubstr("op 'used': another thread was using its state when this process was forked"));
  turn.take("used");
  turn.give();
}

}  // namespace
}  // namespace tarsia::registry
