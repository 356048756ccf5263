// What is done for the cache after its caller has what it asked for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "base/fork.h"

namespace tarsia::cache {

/// Starts a thread that handles no signals of the program's. Throws what std::thread throws.
std::thread start_quietly(std::function<void()> body);

/// Does work in a thread of its own. Files take longer to make than most callers should wait. Thread-safe. A
/// forked child drops what its parent has queued.
class Later final : public ForkAware {
 public:
  Later();
  /// Waits until all is done.
  ~Later();

  /// `work` may throw: the log gets it. It is done now where the system gives no thread, or much is pending.
  void add(std::function<void()> work);
  /// Waits until nothing is pending, or so long. Returns whether nothing is.
  bool flush(std::chrono::milliseconds most);

 private:
  void work();
  /// The caller holds m_mutex.
  bool start_thread();
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override;

  std::mutex m_mutex;  ///< of what follows
  std::deque<std::function<void()>> m_jobs;
  std::deque<std::function<void()>>
      m_dropped;  ///< the parent's, in a forked child; they go with the next work
  bool m_busy = false, m_ends = false;
  std::unique_ptr<std::thread> m_thread;
  /// New in a forked child, where nobody waits.
  std::unique_ptr<std::condition_variable> m_changed = std::make_unique<std::condition_variable>();
};

}  // namespace tarsia::cache
