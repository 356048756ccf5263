// One flight for many: within the process, between processes, and when leaders fail.
#include "cache/single_flight.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <future>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "tests/unit/base/forked_child.h"
#include "tests/unit/base/temporary_dir.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;

const Key k_key = hash_bytes("k");

void wait_for_waiters(const Flights& flights, unsigned count) {
  while (flights.waiting(k_key) != count) std::this_thread::yield();
}

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
        wait_for_waiters(flights, 63);
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
    wait_for_waiters(flights, 8);
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
        wait_for_waiters(flights, 7);
        ticket.fail(std::make_exception_ptr(std::runtime_error("again")), true);
      });
    }
    wait_for_waiters(flights, 8);
    leader.fail(std::make_exception_ptr(std::runtime_error("killed")), true);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(led, 1);
  EXPECT_EQ(errors, 7);
  EXPECT_TRUE(flights.board(k_key).leads());
}

TEST(Flights, a_wait_is_given_up_when_interrupted) {
  Flights flights;
  auto leader = std::make_unique<Flights::Ticket>(flights.board(k_key));
  std::promise<void> over;
  std::thread waiter([&] {
    // No lock is held while foreign code is asked.
    const InterruptScope scope([&] { return flights.waiting(k_key) == 1; });
    EXPECT_THROW(flights.board(k_key), Interrupted);
    over.set_value();
  });
  EXPECT_EQ(over.get_future().wait_for(20s), std::future_status::ready);
  leader.reset();
  waiter.join();
  EXPECT_TRUE(flights.board(k_key).leads());
}

TEST(Flights, one_that_gives_up_as_it_is_to_lead_leaves_the_lead_to_others) {
  for (const unsigned others : {0u, 3u}) {
    Flights flights;
    Flights::Ticket leader = flights.board(k_key);
    ASSERT_TRUE(leader.leads());
    std::atomic<int> led{0};
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < others; ++i) threads.emplace_back([&] { led += flights.board(k_key).leads(); });
    threads.emplace_back([&] {
      bool failed = false;
      const InterruptScope scope([&] {
        wait_for_waiters(flights, others + 1);
        // Offers the lead to one of those who wait. Others may take it before the answer is looked at.
        if (!std::exchange(failed, true))
          leader.fail(std::make_exception_ptr(std::runtime_error("killed")), true);
        return true;
      });
      EXPECT_THROW(flights.board(k_key), Interrupted);
    });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(led, others == 0 ? 0 : 1);
    EXPECT_TRUE(flights.board(k_key).leads());
  }
}

TEST(Flights, a_forked_child_does_not_wait_for_its_parents_threads) {
  Flights flights;
  const Flights::Ticket mine = flights.board(k_key);
  std::thread waiter([&] { flights.board(hash_bytes("other")); });
  EXPECT_EQ(in_forked_child([&] { return flights.board(k_key).leads() ? "leads" : "follows"; }), "leads");
  waiter.join();
}

const auto k_never = [] { return false; };

TEST(CompileTurn, comes_when_the_lock_is_free) {
  const TemporaryDir dir;
  FileLock first, second;
  EXPECT_EQ(wait_for_turn(dir / "l", 1s, k_never, first), CompileTurn::mine);
  int asked = 0;
  EXPECT_EQ(wait_for_turn(dir / "l", 10s, [&] { return ++asked == 2; }, second), CompileTurn::appeared);
  first.release();
  EXPECT_EQ(wait_for_turn(dir / "l", 0ms, k_never, second), CompileTurn::mine);
}

TEST(CompileTurn, comes_to_one_of_those_who_have_waited_for_a_stopped_holder_in_vain) {
  const TemporaryDir dir;
  FileLock stopped, second, third, fourth;
  EXPECT_EQ(wait_for_turn(dir / "l", 1s, k_never, stopped), CompileTurn::mine);
  EXPECT_EQ(wait_for_turn(dir / "l", 20ms, k_never, second), CompileTurn::mine);
  int asked = 0;
  EXPECT_EQ(wait_for_turn(dir / "l", 20ms, [&] { return ++asked == 8; }, third), CompileTurn::appeared);
  EXPECT_EQ(wait_for_turn(dir / "l", 20ms, k_never, fourth), CompileTurn::overdue);
  second.release();
  EXPECT_EQ(wait_for_turn(dir / "l", 20ms, k_never, fourth), CompileTurn::mine);
}

TEST(CompileTurn, is_not_waited_for_where_locks_do_not_work) {
  const TemporaryDir dir;
  FileLock lock;
  EXPECT_EQ(wait_for_turn("", 10s, k_never, lock), CompileTurn::overdue);
  std::filesystem::create_directory(dir / "l");
  EXPECT_EQ(wait_for_turn(dir / "l", 10s, k_never, lock), CompileTurn::overdue);
}

TEST(CompileTurn, passes_on_when_the_holder_is_killed) {
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
  bool killed = false;
  const auto kill_while_waiting = [&] {
    if (!std::exchange(killed, true)) {
      ::kill(holder, SIGKILL);
      ::waitpid(holder, nullptr, 0);
    }
    return false;
  };
  FileLock lock;
  EXPECT_EQ(wait_for_turn(dir / "l", 20s, kill_while_waiting, lock), CompileTurn::mine);
  EXPECT_TRUE(killed);
}

TEST(CompileTurn, is_given_up_when_interrupted) {
  const TemporaryDir dir;
  FileLock first, second;
  EXPECT_EQ(wait_for_turn(dir / "l", 1s, k_never, first), CompileTurn::mine);
  const InterruptScope scope([] { return true; });
  EXPECT_THROW(wait_for_turn(dir / "l", 3s, k_never, second), Interrupted);
}

}  // namespace
}  // namespace tarsia::cache
