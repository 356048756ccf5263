// One compile for all callers that ask for the same at once.
//
// Within a process, the first caller leads and the others wait for its flight to land. Between processes,
// the leaders queue for a kernel's lock, and look into the cache again once they have it. Nobody waits for
// ever. A leader that dies releases its lock. A stopped one is waited for up to a budget; then one of the
// waiters compiles, for whom the others wait as long again. All publish whole entries of one key, so that
// costs only time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/fork.h"
#include "base/lock.h"
#include "cache/key.h"

namespace tarsia::cache {

/// The flights of a process. Thread-safe. A forked child starts with none.
class Flights final : public ForkAware {
 public:
  class Ticket;

  Flights();
  ~Flights();

  /// Leads the key's flight if nobody does, else waits until it has landed. Throws Interrupted.
  Ticket board(const Key& key);
  /// The number of threads that now wait for the key's flight.
  unsigned waiting(const Key& key) const;

 private:
  struct Flight;
  struct State;
  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override;

  std::unique_ptr<State> m_state;
};

/// Either leads a flight, which lands when this is destroyed, or has waited for one to land.
class Flights::Ticket {
 public:
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket();

  bool leads() const { return m_leads != nullptr; }
  /// For a leader: lands with an error, which the waiting threads get as well. `retry`: the error may have
  /// other causes than the work itself, so one of the waiting threads first tries again, once.
  void fail(std::exception_ptr error, bool retry);
  /// For a follower: the error that the flight landed with, if any. Without one, the cache has the result.
  std::exception_ptr error() const { return m_error; }

 private:
  friend class Flights;
  Ticket() = default;

  struct Release {
    State* state;
    void operator()(Flight* flight) const;
  };
  std::unique_ptr<Flight, Release> m_leads;
  std::exception_ptr m_error;
};

/// How waiting for other processes ended.
enum class CompileTurn {
  mine,      ///< the lock is held: look into the cache, then work
  appeared,  ///< the awaited entry is there; the lock is not held
  overdue,   ///< both budgets are spent; no lock is held: work without
};

/// Waits for the lock file, and asks `appeared` before each pause, which is 10 ms at most; once the budget is
/// spent, for a second one beside it, which only those take who have waited in vain. Returns `overdue` at
/// once for an empty path, or for locks that fail for another reason than their holders. Throws Interrupted.
CompileTurn wait_for_turn(const std::string& lock_path, std::chrono::milliseconds budget,
                          const std::function<bool()>& appeared, FileLock& lock);

}  // namespace tarsia::cache
