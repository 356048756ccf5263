// Flights within the process, and turns between processes.
#include "cache/single_flight.h"

#include <optional>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"

namespace tarsia::cache {

struct Flights::Flight {
  Key key;
  std::condition_variable landed;
  unsigned waiting = 0;
  unsigned tries = 1;
  bool free = false;  ///< the leader failed, and one of the waiting threads must lead
  bool done = false;
  std::exception_ptr error;
};

struct Flights::State {
  std::mutex mutex;
  std::map<Key, std::shared_ptr<Flight>> flights;
};

Flights::Flights() : m_state(std::make_unique<State>()) {
  watch_forks();
}

Flights::~Flights() {
  forget_forks();
}

Flights::Ticket Flights::board(const Key& key) {
  State* state = m_state.get();
  Ticket ticket;
  std::unique_lock lock(state->mutex);
  std::shared_ptr<Flight>& slot = state->flights[key];
  if (!slot) {
    slot = std::make_shared<Flight>();
    slot->key = key;
    ticket.m_leads = {slot.get(), Ticket::Release{state}};
    return ticket;
  }
  const std::shared_ptr<Flight> flight = slot;
  ++flight->waiting;
  const bool landed = wait_or_interrupt(lock, flight->landed, [&] { return flight->done || flight->free; });
  --flight->waiting;
  if (!landed) {
    // The lead was offered and nobody is left to take it. The next caller begins anew.
    if (flight->free && flight->waiting == 0) state->flights.erase(key);
    throw Interrupted("the wait for another thread's compile of the same source was interrupted");
  }
  if (flight->free) {
    flight->free = false;
    ++flight->tries;
    ticket.m_leads = {flight.get(), Ticket::Release{state}};
  } else {
    ticket.m_error = flight->error;
  }
  return ticket;
}

unsigned Flights::waiting(const Key& key) const {
  const std::lock_guard lock(m_state->mutex);
  const auto flight = m_state->flights.find(key);
  return flight == m_state->flights.end() ? 0 : flight->second->waiting;
}

void Flights::Ticket::Release::operator()(Flight* flight) const {
  const std::lock_guard lock(state->mutex);
  // The map's reference may be the last.
  const auto place = state->flights.find(flight->key);
  const std::shared_ptr<Flight> held = place->second;
  held->done = true;
  state->flights.erase(place);
  held->landed.notify_all();
}

Flights::Ticket::~Ticket() = default;

void Flights::Ticket::fail(std::exception_ptr error, bool retry) {
  State* state = m_leads.get_deleter().state;
  {
    const std::lock_guard lock(state->mutex);
    if (retry && m_leads->waiting > 0 && m_leads->tries < 2) {
      m_leads->free = true;
      m_leads->landed.notify_one();
      static_cast<void>(m_leads.release());
      return;
    }
    m_leads->error = std::move(error);
  }
  m_leads.reset();
}

void Flights::before_fork() {
  m_state->mutex.lock();
}

void Flights::after_fork_in_parent() {
  m_state->mutex.unlock();
}

void Flights::after_fork_in_child() {
  // Abandoned: its leaders are threads of the parent.
  static_cast<void>(m_state.release());
  m_state = std::make_unique<State>();
}

namespace {

/// Nothing: the budget is spent.
std::optional<CompileTurn> wait_at(const std::string& lock_path, std::chrono::milliseconds budget,
                                   const std::function<bool()>& appeared, FileLock& lock) {
  using Clock = std::chrono::steady_clock;
  using namespace std::chrono_literals;
  const Clock::time_point end = Clock::now() + budget;
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    switch (lock.try_lock(lock_path)) {
      case FileLock::Status::locked:
        return CompileTurn::mine;
      case FileLock::Status::failed:
        log().debug("no lock {}", lock_path);
        return CompileTurn::overdue;
      case FileLock::Status::busy:
        break;
    }
    if (is_interrupted())
      throw Interrupted("the wait for another process's compile of the same source was interrupted");
    // Of many that wait, each takes what is there without its turn at the lock. And a holder that was stopped
    // after it published never releases it.
    if (appeared()) return CompileTurn::appeared;
    const Clock::time_point now = Clock::now();
    if (now >= end) {
      log().info("waited {} ms for another process's compile", budget.count());
      return std::nullopt;
    }
    // A look costs some microseconds, and a hundred processes may wait: they must not slow down the one that
    // compiles.
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, end - now));
    pause = std::min<std::chrono::microseconds>(2 * pause, 10ms);
  }
}

}  // namespace

CompileTurn wait_for_turn(const std::string& lock_path, std::chrono::milliseconds budget,
                          const std::function<bool()>& appeared, FileLock& lock) {
  if (lock_path.empty()) return CompileTurn::overdue;
  if (const auto turn = wait_at(lock_path, budget, appeared, lock)) return *turn;
  // Of all who have waited for a holder in vain, one compiles, and the others wait for that.
  return wait_at(lock_path + "-second", budget, appeared, lock).value_or(CompileTurn::overdue);
}

}  // namespace tarsia::cache
