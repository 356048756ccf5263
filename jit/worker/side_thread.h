// A thread beside the one that compiles.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace tarsia::jit {

/// Does one piece of work at a time. It is always the same thread: what it allocates lies in a part of the
/// heap of its own, so that the holes there slow no other thread down. Used by one thread. The process may
/// fork when wait() has returned; the child has no use for it.
class SideThread {
 public:
  SideThread() = default;
  ~SideThread() {
    if (!m_thread.joinable()) return;
    {
      const std::lock_guard lock(m_mutex);
      m_ends = true;
    }
    m_changed.notify_all();
    m_thread.join();
  }
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  /// Begins with the work when the earlier one is done. Returns false if the system gives no thread. `work`
  /// must not throw.
  bool start(std::function<void()> work) {
    wait();
    try {
      if (!m_thread.joinable()) m_thread = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      return false;
    }
    {
      const std::lock_guard lock(m_mutex);
      m_work = std::move(work);
    }
    m_changed.notify_all();
    return true;
  }

  /// Returns when it does nothing.
  void wait() {
    std::unique_lock lock(m_mutex);
    m_changed.wait(lock, [&] { return !m_work; });
  }

 private:
  void run() {
    std::unique_lock lock(m_mutex);
    for (;;) {
      m_changed.wait(lock, [&] { return m_ends || m_work; });
      if (!m_work) return;
      lock.unlock();
      m_work();
      lock.lock();
      m_work = nullptr;
      m_changed.notify_all();
    }
  }

  std::mutex m_mutex;  ///< of what follows; m_work stays as it is while it runs
  std::condition_variable m_changed;
  std::function<void()> m_work;
  bool m_ends = false;
  std::thread m_thread;
};

}  // namespace tarsia::jit
