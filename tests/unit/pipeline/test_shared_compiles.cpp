// Threads and processes that want one module at once, and what they meet: holders and workers that are killed
// or stopped, forks, signals.
#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/error.h"
#include "base/interrupt.h"
#include "pipeline/pipeline.h"
#include "tests/unit/base/waiting.h"
#include "tests/unit/pipeline/pipeline_fixture.h"

namespace tarsia::pipeline {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

struct SharedCompiles : Pipe {};

TEST_F(SharedCompiles, sixty_four_threads_and_one_compile) {
  const Waiters waiters;
  Pipeline pipeline(test_settings());
  std::atomic<int> compiled{0}, memory{0};
  std::set<std::string> keys;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      const InterruptScope scope(waiters.check());
      const Module module = pipeline.compile(until_gate());
      ++(module.origin == Origin::compiled ? compiled : memory);
      const std::lock_guard lock(mutex);
      keys.insert(module.key);
    });
  }
  waiters.come(64);
  open_gate();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(memory, 63);
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_EQ(compiles().size(), 1u);
}

/// Starts processes that each run `body` and leave with its result; gives how many did well. The test goes on
/// with `meanwhile` once they have started.
template <typename Body, typename Meanwhile>
int in_processes(int count, Body body, Meanwhile meanwhile) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      int code = 1;
      try {
        code = body(i) ? 0 : 2;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "process %d: %s\n", i, error.what());
      }
      ::_exit(code);
    }
    children.push_back(child);
  }
  meanwhile();
  int good = 0;
  for (pid_t child : children) {
    int state = 0;
    ::waitpid(child, &state, 0);
    good += state == 0;
  }
  return good;
}

TEST_F(SharedCompiles, eight_processes_of_eight_threads_and_one_compile) {
  const Waiters waiters;
  const auto eight_threads = [&](int) {
    Pipeline pipeline(test_settings());
    std::atomic<int> right{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        const InterruptScope scope(waiters.check());
        const Module module = pipeline.compile(until_gate());
        right += bytes_of(module).starts_with(
            "\x7f"
            "ELF op until ");
      });
    }
    for (std::thread& thread : threads) thread.join();
    return right == 8;
  };
  const int good = in_processes(8, eight_threads, [&] {
    waiters.come(64);
    open_gate();
  });
  EXPECT_EQ(good, 8);
  EXPECT_EQ(compiles().size(), 1u);
  EXPECT_EQ(entries().size(), 1u);
}

TEST_F(SharedCompiles, sixty_four_processes_and_one_compile) {
  const Waiters waiters;
  const auto one_thread = [&](int) {
    const InterruptScope scope(waiters.check());
    Pipeline pipeline(test_settings());
    return bytes_of(pipeline.compile(until_gate()))
        .starts_with(
            "\x7f"
            "ELF op until ");
  };
  const int good = in_processes(64, one_thread, [&] {
    waiters.come(64);
    open_gate();
  });
  EXPECT_EQ(good, 64);
  EXPECT_EQ(compiles().size(), 1u);
}

TEST_F(SharedCompiles, a_killed_holder_is_succeeded_by_one_waiter) {
  const pid_t holder = ::fork();
  if (holder == 0) {
    Pipeline pipeline(test_settings());
    pipeline.compile(until_gate());
    ::_exit(0);
  }
  wait_until([&] { return !compiles().empty(); });
  const Waiters waiters;
  const auto waiter = [&](int) {
    const InterruptScope scope(waiters.check());
    Pipeline pipeline(test_settings());
    pipeline.compile(until_gate());
    return true;
  };
  const int good = in_processes(4, waiter, [&] {
    waiters.come(4);
    kill_and_wait(holder);
    ::waitpid(holder, nullptr, 0);
    wait_until([&] { return compiles().size() > 1; });
    open_gate();
  });
  EXPECT_EQ(good, 4);
  EXPECT_EQ(compiles().size(), 2u);
}

TEST_F(SharedCompiles, a_killed_worker_is_succeeded_by_one_waiter) {
  const Waiters waiters;
  Pipeline pipeline(test_settings());
  std::atomic<int> crashed{0}, served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      const InterruptScope scope(waiters.check());
      try {
        pipeline.compile(until_gate());
        ++served;
      } catch (const CompilerCrashed&) {
        ++crashed;
      }
    });
  }
  waiters.come(8);
  wait_until([&] { return !compiles().empty(); });
  std::ifstream log(dir / "log");
  pid_t worker = 0;
  log >> worker;
  kill_and_wait(worker);
  open_gate();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(crashed, 1);
  EXPECT_EQ(served, 7);
  EXPECT_EQ(compiles().size(), 2u);
}

TEST_F(SharedCompiles, a_stopped_holder_is_waited_for_within_the_budget_and_does_no_harm_later) {
  const pid_t holder = ::fork();
  if (holder == 0) {
    Pipeline pipeline(test_settings());
    pipeline.compile(until_gate());
    ::_exit(0);
  }
  wait_until([&] { return !compiles().empty(); });
  ::kill(holder, SIGSTOP);
  int state = -1;
  ASSERT_EQ(::waitpid(holder, &state, WUNTRACED), holder);
  ASSERT_TRUE(WIFSTOPPED(state));
  open_gate();
  Settings settings = test_settings();
  settings.patience = 300ms;
  Pipeline pipeline(settings);
  EXPECT_EQ(pipeline.compile(until_gate()).origin, Origin::compiled);
  EXPECT_EQ(compiles().size(), 2u);
  ::kill(holder, SIGCONT);
  ::waitpid(holder, &state, 0);
  EXPECT_EQ(state, 0);
  Pipeline later(test_settings());
  EXPECT_EQ(later.compile(until_gate()).origin, Origin::disk);
  EXPECT_EQ(later.counters().corrupt, 0u);
}

TEST_F(SharedCompiles, a_forked_child_compiles_while_its_parents_threads_do) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer allows no threads in a forked child";
#endif
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's allocator may be locked in a forked child";
#endif
  Pipeline pipeline(test_settings());
  std::vector<std::thread> threads;
  std::atomic<bool> stop{false};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        pipeline.compile(source("compile " + std::to_string(1000 * t + i)));
      }
    });
  }
  int good = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(10);
      const Module a = pipeline.compile(source("compile child" + std::to_string(i)));
      const Module b = pipeline.compile(source("compile child" + std::to_string(i)));
      ::_exit(a.origin == Origin::compiled && b.origin == Origin::memory ? 0 : 1);
    }
    int state = -1;
    ::waitpid(child, &state, 0);
    good += state == 0;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 20);
}

TEST_F(SharedCompiles, signals_at_a_kilohertz_disturb_nothing) {
  static std::atomic<unsigned> s_signals{0};
  struct sigaction action = {}, before;
  action.sa_handler = [](int) { ++s_signals; };  // without SA_RESTART
  ASSERT_EQ(::sigaction(SIGALRM, &action, &before), 0);
  const itimerval kilohertz = {{0, 1000}, {0, 1000}}, off = {};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &kilohertz, nullptr), 0);
  for (int i = 0; i < 40; ++i) {
    const std::string filler = " " + std::string(100'000, 'x');
    const std::string gate = dir / std::to_string(i);
    const std::string text = (i % 4 == 0 ? "until " + gate : "parts " + std::to_string(i)) + filler;
    // The worker is busy while ten signals come.
    std::thread opener([&, until = s_signals + 10] {
      sigset_t alarm;
      ::sigemptyset(&alarm);
      ::sigaddset(&alarm, SIGALRM);
      ::pthread_sigmask(SIG_BLOCK, &alarm, nullptr);  // the signals are for the thread that compiles
      wait_until([&] { return s_signals >= until; });
      write_file(gate, "");
    });
    EXPECT_EQ(Pipeline(test_settings()).compile(source(text)).origin, Origin::compiled);
    EXPECT_EQ(Pipeline(test_settings()).compile(source(text)).origin, Origin::disk);
    opener.join();
  }
  ::setitimer(ITIMER_REAL, &off, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
  EXPECT_EQ(compiles().size(), 40u);
  for (const auto& item : fs::recursive_directory_iterator(dir / "cache")) {
    EXPECT_EQ(item.path().string().find(".tmp."), std::string::npos);
  }
}

}  // namespace
}  // namespace tarsia::pipeline
