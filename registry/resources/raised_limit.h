// A limit that somebody else stores too, and that is only ever raised.
#pragma once

#include <atomic>
#include <mutex>

namespace tarsia::registry {

/// Raises the limit there and remembers it here in one step, so a lower limit never follows a higher one.
class RaisedLimit {
 public:
  unsigned get() const noexcept { return m_limit.load(std::memory_order_acquire); }
  /// What holds before anything was raised.
  void start(unsigned limit) noexcept { m_limit.store(limit, std::memory_order_release); }
  /// Raises it by `set`, which returns whether that worked. Does nothing if it is as high already.
  /// Thread-safe.
  template <class F>
  bool raise(unsigned limit, F&& set) {
    const std::lock_guard lock(m_mutex);
    if (limit <= get()) return true;
    if (!set()) return false;
    start(limit);
    return true;
  }

 private:
  std::atomic<unsigned> m_limit{0};
  std::mutex m_mutex;
};

}  // namespace tarsia::registry
