// Flows by themselves: the order of their steps, failures, interrupts, forks.
#include "graph/flow/flow.h"

#include <oneapi/tbb/parallel_for.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/parallel.h"

namespace tarsia::graph {

namespace {

[[maybe_unused]] const int s_set = ::setenv("TARSIA_NUM_THREADS", "4", 0);  // on any machine

std::unique_ptr<Flow> flow_of(std::uint32_t n, const std::vector<FlowEdge>& edges = {}) {
  std::unique_ptr<Flow> flow = Flow::make(n, edges);
  EXPECT_NE(flow, nullptr);
  return flow;
}

std::vector<FlowEdge> random_edges(std::mt19937& random, std::uint32_t n) {
  std::vector<FlowEdge> edges;
  for (std::uint32_t s = 1; s < n; ++s)
    for (unsigned i = 0, k = static_cast<unsigned>(random() % 4); i < k; ++i)
      edges.push_back({static_cast<std::uint32_t>(random() % s), s});
  std::ranges::sort(edges, {}, [](FlowEdge e) { return std::pair(e.from, e.to); });
  const auto same = [](FlowEdge a, FlowEdge b) { return a.from == b.from && a.to == b.to; };
  edges.erase(std::ranges::unique(edges, same).begin(), edges.end());
  return edges;
}

/// Runs a flow whose steps see what those before them have written, without any lock.
bool keeps_order(Flow& flow, std::uint32_t n, const std::vector<FlowEdge>& edges) {
  std::vector<int> times(n, 0);
  std::atomic<bool> is_right{true};
  const Flow::Result result = flow.run([&](std::uint32_t s) {
    for (FlowEdge edge : edges)
      if (edge.to == s && times[edge.from] != 1) is_right = false;
    ++times[s];
    return 0;
  });
  return !result.code && is_right && std::ranges::all_of(times, [](int t) { return t == 1; });
}

std::int32_t fail(const std::string& text) {
  return registry::set_last_error(TARSIA_OP_VALUE_ERROR, "", text);
}

/// A call of a caller's that asks to end once `is_wanted`.
class InterruptedCall {
 public:
  InterruptedCall() : m_frame({TARSIA_CPU, 0}) {
    m_frame.context().user = &is_wanted;
    m_frame.context().interrupted = [](void* user) -> std::int32_t {
      return static_cast<std::atomic<bool>*>(user)->load();
    };
  }
  std::atomic<bool> is_wanted{false};

 private:
  registry::CallFrame m_frame;
};

}  // namespace

TEST(Flow, each_step_runs_once_behind_those_that_come_before_it) {
  std::mt19937 random(3);
  for (int i = 0; i < 30; ++i) {
    const auto n = static_cast<std::uint32_t>(1 + random() % 60);
    const auto edges = random_edges(random, n);
    const auto flow = flow_of(n, edges);
    for (int k = 0; k < 10; ++k) ASSERT_TRUE(keeps_order(*flow, n, edges)) << i;
  }
}

TEST(Flow, steps_without_an_order_run_at_the_same_time_and_not_on_the_caller) {
  const auto flow = flow_of(2);
  std::mutex mutex;
  std::condition_variable came;
  int here = 0;
  std::atomic<bool> is_callers{false};
  const auto caller = std::this_thread::get_id();
  const auto result = flow->run([&](std::uint32_t) {
    if (std::this_thread::get_id() == caller) is_callers = true;
    std::unique_lock lock(mutex);
    ++here;
    came.notify_all();
    return came.wait_for(lock, std::chrono::seconds(20), [&] { return here == 2; }) ? 0 : fail("alone");
  });
  EXPECT_EQ(result.code, 0);
  EXPECT_FALSE(is_callers);
}

TEST(Flow, the_first_failure_in_the_order_of_the_steps_is_told) {
  const auto flow = flow_of(8);
  for (int k = 0; k < 100; ++k) {
    const auto result = flow->run([](std::uint32_t s) { return s % 3 == 2 ? fail(std::to_string(s)) : 0; });
    ASSERT_EQ(result.code, TARSIA_OP_VALUE_ERROR);
    ASSERT_EQ(result.step, 2u);
    ASSERT_EQ(registry::last_error().message, "2");
  }
}

TEST(Flow, steps_behind_a_failure_do_not_run_and_the_flow_runs_again) {
  const std::vector<FlowEdge> edges{{0, 1}, {1, 2}};
  const auto flow = flow_of(3, edges);
  std::atomic<int> ran{0};
  const auto result = flow->run([&](std::uint32_t s) {
    ++ran;
    return s == 0 ? fail("no") : 0;
  });
  EXPECT_EQ(result.step, 0u);
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(keeps_order(*flow, 3, edges));
}

TEST(Flow, an_interrupted_call_ends_steps_that_ask_and_begins_no_others) {
  const auto flow = flow_of(3, {{0, 2}, {1, 2}});
  InterruptedCall call;
  std::atomic<int> ran{0};
  const auto result = flow->run([&](std::uint32_t s) {
    ++ran;
    if (s == 0) call.is_wanted = true;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!registry::is_call_interrupted())
      if (std::chrono::steady_clock::now() > end) return fail("nobody interrupts");
    return fail("interrupted");
  });
  EXPECT_EQ(result.code, TARSIA_INTERRUPTED);
  EXPECT_EQ(result.step, k_none);
  EXPECT_EQ(registry::last_error().code, TARSIA_INTERRUPTED);
  EXPECT_LE(ran, 2);
  call.is_wanted = false;
  EXPECT_EQ(flow->run([](std::uint32_t) { return 0; }).code, 0);
}

TEST(Flow, a_step_that_waits_for_tasks_takes_up_no_other_step) {
#if defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "ThreadSanitizer does not see what orders oneTBB's own tasks";
#endif
  const auto flow = flow_of(64);
  std::atomic<int> nested{0};
  flow->run([&](std::uint32_t) {
    thread_local int t_depth = 0;
    if (t_depth++) ++nested;
    std::atomic<int> sum{0};
    tbb::parallel_for(0, 64, [&](int i) {
      std::this_thread::yield();
      sum += i;
    });
    --t_depth;
    return sum == 64 * 63 / 2 ? 0 : fail("sum");
  });
  EXPECT_EQ(nested, 0);
}

TEST(Flow, steps_round_as_the_caller_does) {
  const auto flow = flow_of(4);
  for (int mode : {FE_UPWARD, FE_TONEAREST}) {
    std::fesetround(mode);
    std::atomic<int> wrong{0};
    flow->run([&](std::uint32_t) {
      wrong += std::fegetround() != mode;
      return 0;
    });
    EXPECT_EQ(wrong, 0);
  }
}

TEST(Flow, within_a_step_no_flow_is_usable) {
  const auto flow = flow_of(2), other = flow_of(2);
  EXPECT_TRUE(other->is_usable());
  flow->run([&](std::uint32_t) { return other->is_usable() ? fail("usable") : 0; });
  EXPECT_TRUE(flow->is_usable());
}

TEST(Flow, several_flows_at_once) {
  std::mt19937 random(5);
  const auto edges = random_edges(random, 40);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        const auto flow = Flow::make(40, edges);
        for (int k = 0; k < 5; ++k) wrong += !flow || !keeps_order(*flow, 40, edges);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Flow, a_forked_child_uses_none_and_ends) {
  auto flow = flow_of(2);
  flow->run([](std::uint32_t) { return 0; });
  const pid_t child = fork();
  if (child == 0) {
    const bool ok = !flow->is_usable() && !Flow::make(2, {});
    flow.reset();
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace tarsia::graph
