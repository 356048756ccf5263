// Turns: one caller at a time uses something while its author's code runs, without a lock around that code.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tarsia::registry {

/// Whose turn it is. A thread that waits in vain is told so: what would never end is an error.
class Turn {
 public:
  Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Waits until no other thread has the turn, and takes it. False if this thread has it already: it goes on
  /// beneath its own outer call, which gives the turn back. Throws Error that names the op where the
  /// thread that has the turn waits in turn for this one, or is not in this process because the process was
  /// forked meanwhile.
  bool take(const char* op) {
    const std::uint64_t self = thread_number();
    std::uint64_t owner = 0;
    if (m_owner.compare_exchange_strong(owner, self)) return true;
    if (owner == self) return false;
    wait(self, op);
    return true;
  }

  /// Gives back what take() took.
  void give() noexcept {
    m_owner.store(0);
    if (m_waiting.load()) wake();
  }

 private:
  friend class Waits;
  /// Of this thread, from 1; never given again, also not in forked children.
  static std::uint64_t thread_number() noexcept;
  void wait(std::uint64_t self, const char* op);
  void wake() noexcept;

  // A waiter counts itself before it looks at m_owner, and who gives the turn back looks at the count after
  // it has written m_owner: one of the two sees the other.
  std::atomic<std::uint64_t> m_owner{0};    ///< a thread's number, 0: nobody's turn
  std::atomic<std::uint32_t> m_waiting{0};  ///< how many wait
  std::atomic<std::uint32_t> m_given{0};    ///< changes when a waiter is to look again
};

}  // namespace tarsia::registry
