// One flight for many: within the process, between processes, and when leaders fail.
#include "cache/single_flight.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

const Key k_key = hash_bytes("k");

TEST(Flights, many_ask_and_one_works) {
  Flights flights;
  std::atomic<bool> stored{false};
  std::atomic<int> worked{0}, served{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 64; ++i) {
    threads.emplace_back([&] {
      while (!stored) {
        Flights::Ticket ticket = flights.board(k_key);
        if (!ticket.leads() || stored) continue;
        ++worked;
        std::this_thread::sleep_for(30ms);
        stored = true;
      }
      ++served;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(worked, 1);
  EXPECT_EQ(served, 64);
}

TEST(Flights, of_different_keys_do_not_meet) {
  Flights flights;
  const Flights::Ticket a = flights.board(hash_bytes("a"));
  const Flights::Ticket b = flights.board(hash_bytes("b"));
  EXPECT_TRUE(a.leads());
  EXPECT_TRUE(b.leads());
}

TEST(Flights, an_error_reaches_all_who_wait_and_nobody_later) {
  Flights flights;
  std::atomic<int> errors{0};
  std::vector<std::thread> threads;
  {
    Flights::Ticket leader = flights.board(k_key);
    ASSERT_TRUE(leader.leads());
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        const Flights::Ticket ticket = flights.board(k_key);
        if (ticket.leads() || !ticket.error()) return;
        try {
          std::rethrow_exception(ticket.error());
        } catch (const std::runtime_error& error) {
          if (std::string(error.what()) == "no") ++errors;
        }
      });
    }
    std::this_thread::sleep_for(50ms);
    leader.fail(std::make_exception_ptr(std::runtime_error("no")), false);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(errors, 8);
  EXPECT_TRUE(flights.board(k_key).leads());
}

TEST(Flights, one_of_those_who_wait_takes_over_once) {
  Flights flights;
  std::atomic<int> led{0}, errors{0};
  std::vector<std::thread> threads;
  {
    Flights::Ticket leader = flights.board(k_key);
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        Flights::Ticket ticket = flights.board(k_key);
        if (!ticket.leads()) {
          if (ticket.error()) ++errors;
          return;
        }
        ++led;
        std::this_thread::sleep_for(20ms);
        ticket.fail(std::make_exception_ptr(std::runtime_error("again")), true);
      });
    }
    std::this_thread::sleep_for(50ms);
    leader.fail(std::make_exception_ptr(std::runtime_error("killed")), true);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(led, 1);
  EXPECT_EQ(errors, 7);
  EXPECT_TRUE(flights.board(k_key).leads());
}

TEST(Flights, a_forked_child_does_not_wait_for_its_parents_threads) {
  Flights flights;
  const Flights::Ticket mine = flights.board(k_key);
  std::thread waiter([&] { flights.board(hash_bytes("other")); });
  const pid_t child = ::fork();
  if (child == 0) ::_exit(flights.board(k_key).leads() ? 0 : 1);
  int state = -1;
  const auto end = Clock::now() + 5s;
  while (::waitpid(child, &state, WNOHANG) == 0 && Clock::now() < end) std::this_thread::sleep_for(1ms);
  if (state == -1) ::kill(child, SIGKILL);
  EXPECT_EQ(state, 0);
  waiter.join();
}

const auto k_never = [] { return false; };

TEST(Turn, comes_when_the_lock_is_free) {
  const TemporaryDir dir;
  FileLock first, second;
  EXPECT_EQ(wait_for_turn(dir / "l", 1s, k_never, first), Turn::mine);
  const auto start = Clock::now();
  EXPECT_EQ(wait_for_turn(dir / "l", 120ms, k_never, second), Turn::overdue);
  EXPECT_GE(Clock::now() - start, 120ms);
  int asked = 0;
  EXPECT_EQ(wait_for_turn(dir / "l", 10s, [&] { return ++asked == 2; }, second), Turn::appeared);
  first.release();
  EXPECT_EQ(wait_for_turn(dir / "l", 0ms, k_never, second), Turn::mine);
}

TEST(Turn, is_not_waited_for_where_locks_do_not_work) {
  const TemporaryDir dir;
  FileLock lock;
  EXPECT_EQ(wait_for_turn("", 10s, k_never, lock), Turn::overdue);
  std::filesystem::create_directory(dir / "l");
  EXPECT_EQ(wait_for_turn(dir / "l", 10s, k_never, lock), Turn::overdue);
}

TEST(Turn, passes_on_when_the_holder_is_killed) {
  const TemporaryDir dir;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    FileLock lock;
    wait_for_turn(dir / "l", 1s, k_never, lock);
    if (::write(ends[1], "x", 1) != 1) ::_exit(1);
    ::pause();
  }
  char byte;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ::close(ends[0]);
  ::close(ends[1]);
  std::thread killer([&] {
    std::this_thread::sleep_for(80ms);
    ::kill(holder, SIGKILL);
    ::waitpid(holder, nullptr, 0);
  });
  FileLock lock;
  EXPECT_EQ(wait_for_turn(dir / "l", 20s, k_never, lock), Turn::mine);
  killer.join();
}

}  // namespace
}  // namespace tarsia::cache
