// Random numbers that one seed determines, for calls that follow each other and for those at the same time.
#include "registry/resources/random.h"

#include <tarsia/host.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "tests/unit/base/forked_child.h"
#include "tests/unit/registry/module_fixture.h"

namespace tarsia::registry {
namespace {

using testing::HasSubstr;

constexpr tarsia_device k_cpu{TARSIA_CPU, 0};

std::mt19937* cpu_states() {
  std::uint32_t n = 0;
  auto* states = static_cast<std::mt19937*>(random_states(k_cpu, TARSIA_RANDOM_MT19937, n));
  EXPECT_EQ(n, 1024u);
  return states;
}
/// What a call of its own draws from the first state.
std::mt19937::result_type draw() {
  CallFrame frame(k_cpu);
  return (*cpu_states())();
}

class Random : public testing::Test {
 protected:
  void TearDown() override { seed_random(0); }
};

TEST_F(Random, one_seed_gives_one_sequence) {
  seed_random(3);
  const RandomRange first = reserve_random(k_cpu, 10), second = reserve_random(k_cpu, 5);
  EXPECT_EQ(first.seed, 381u);
  EXPECT_EQ(first.offset, 0u);
  EXPECT_EQ(second.offset, 10u);
  EXPECT_EQ(reserve_random({TARSIA_GPU, 2}, 1).seed, 383u);
  const auto a = draw();
  auto b = a;
  std::thread([&] { b = draw(); }).join();  // another thread goes on where this one was
  std::mt19937 expected(381);
  EXPECT_EQ(a, expected());
  EXPECT_EQ(b, expected());
  seed_random(3);
  EXPECT_EQ(draw(), a);
  EXPECT_EQ(reserve_random(k_cpu, 1).offset, 0u);
}

TEST_F(Random, calls_at_the_same_time_draw_from_states_of_their_own) {
  seed_random(4);
  {
    CallFrame frame(k_cpu);
    std::mt19937* const mine = cpu_states();
    EXPECT_EQ(cpu_states(), mine);
    std::thread([&] {
      CallFrame frame(k_cpu);
      std::mt19937* const others = cpu_states();
      EXPECT_TRUE(others + 1024 <= mine || mine + 1024 <= others);
      EXPECT_NE(others[0](), mine[0]());
    }).join();
  }
  std::mt19937 expected(4 * 127);
  expected();
  EXPECT_EQ(draw(), expected());
}

TEST_F(Random, a_call_within_a_call_goes_on_with_its_states) {
  CallFrame outer(k_cpu);
  std::mt19937* const mine = cpu_states();
  CallFrame inner(k_cpu);
  EXPECT_EQ(cpu_states(), mine);
}

TEST_F(Random, seeding_leaves_the_states_of_running_calls_alone) {
  seed_random(5);
  {
    CallFrame frame(k_cpu);
    std::mt19937* const mine = cpu_states();
    mine[0].discard(3);
    const std::mt19937 before = mine[0];
    seed_random(6);
    std::thread([] { EXPECT_EQ(draw(), std::mt19937(6 * 127 + 1024)()); }).join();
    EXPECT_EQ(cpu_states(), mine);
    EXPECT_EQ(mine[0], before);
  }
  EXPECT_EQ(draw(), std::mt19937(6 * 127)());
}

TEST_F(Random, threads_draw_while_another_seeds) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!done) {
        CallFrame frame(k_cpu);
        std::mt19937* const states = cpu_states();
        for (int i = 0; i < 1024; ++i) {
          std::mt19937 copy = states[i];
          ASSERT_EQ(states[i](), copy());
        }
        reserve_random(k_cpu, 3);
      }
    });
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    seed_random(seed);
    draw();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  seed_random(7);
  EXPECT_EQ(draw(), std::mt19937(7 * 127)());
}

TEST_F(Random, states_outside_of_calls_are_an_error) {
  std::uint32_t n = 0;
  EXPECT_THAT(error_of([&] { random_states(k_cpu, TARSIA_RANDOM_MT19937, n); }),
              HasSubstr("no call is under way"));
  EXPECT_THAT(error_of([&] { random_states(k_cpu, TARSIA_RANDOM_PHILOX, n); }),
              HasSubstr("the CPU has mt19937 states"));
}

TEST_F(Random, a_forked_child_has_all_states_while_a_thread_of_its_parent_holds_some) {
  seed_random(8);
  std::latch held(1), forked(1);
  std::thread other([&] {
    CallFrame frame(k_cpu);
    cpu_states();
    held.count_down();
    forked.wait();
  });
  held.wait();
  const std::string said = in_forked_child([] { return std::to_string(draw()); });
  forked.count_down();
  other.join();
  EXPECT_EQ(said, std::to_string(std::mt19937(8 * 127)()));
}

}  // namespace
}  // namespace tarsia::registry
