// Giving up a wait: for faces whose user may press Ctrl-C while a compile goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace tarsia {

/// While it lives, long waits of this thread ask `check` now and then. Once it returns true, the wait ends
/// with Interrupted. The innermost scope counts.
class InterruptScope {
 public:
  explicit InterruptScope(std::function<bool()> check);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  std::function<bool()> m_check;
  const std::function<bool()>* m_before;
};

/// Whether waits of this thread must ask.
bool may_be_interrupted();
/// Asks. False without a scope. Runs foreign code: no lock may be held.
bool is_interrupted();
/// How often a wait asks.
inline constexpr std::chrono::milliseconds k_ask_every{50};

/// Waits like std::condition_variable::wait until `ready`, which it asks under the lock. Returns false if
/// the wait was given up instead. A notification that came at that moment is passed on. If the notifier
/// chose this waiter by a change of what `ready` reads, the caller must tell it. The lock is held again in
/// either case.
template <typename Ready>
bool wait_or_interrupt(std::unique_lock<std::mutex>& lock, std::condition_variable& condition, Ready ready) {
  if (!may_be_interrupted()) {
    condition.wait(lock, ready);
    return true;
  }
  while (!condition.wait_for(lock, k_ask_every, ready)) {
    lock.unlock();
    const bool given_up = is_interrupted();
    lock.lock();
    if (!given_up) continue;
    condition.notify_one();
    return false;
  }
  return true;
}

}  // namespace tarsia
