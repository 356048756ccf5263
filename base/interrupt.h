// Giving up a wait: for faces whose user may press Ctrl-C while a compile goes on.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace tarsia {

/// While it lives, `check` is asked now and then by waits of this thread that may take long; once it gives
/// true, the wait ends with Interrupted. The innermost counts.
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

/// Whether waits of this thread have to ask.
bool may_be_interrupted();
/// Asks. False without a scope. Runs foreign code: no lock may be held.
bool is_interrupted();
/// How often a wait asks.
inline constexpr std::chrono::milliseconds k_ask_every{50};

/// Waits until `ready`, which is asked under the lock, like std::condition_variable::wait. False if the wait
/// was given up instead: a notification that came at that moment is passed on, but whoever chose this waiter
/// by changing what `ready` looks at has to be told by the caller. The lock is held again in either case.
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
