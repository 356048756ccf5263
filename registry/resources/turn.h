// Turns: one caller at a time uses an object while its author's code runs, without a lock around that code.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <string>

namespace tarsia::registry {

/// Whose turn it is. A wait that would never end throws an error.
class Turn {
 public:
  Turn();
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

  /// Waits until no other thread has the turn, and takes it. False if this thread has it already: it goes
  /// on beneath its own outer call, which gives the turn back. Throws Error that names the op in two cases:
  /// the thread that has the turn waits for this one, or a fork left it in another process. Throws
  /// Interrupted when who made the call under way wants it to end.
  bool take(const char* op) {
    const std::uint64_t self = thread_number();
    std::uint64_t owner = 0;
    if (m_owner.compare_exchange_strong(owner, self)) return true;
    if (owner == self) return false;
    wait(self, op);
    return true;
  }

  /// Gives back the turn that take() took.
  void give() noexcept {
    m_owner.store(0);
    if (m_waiting.load()) wake();
  }

 private:
  friend class Waits;
  /// This thread's number, from 1. No other thread ever gets it, not even in forked children.
  static std::uint64_t thread_number() noexcept;
  void wait(std::uint64_t self, const char* op);
  void wake() noexcept;

  // A waiter counts itself before it reads m_owner. The thread that gives the turn back reads the count
  // after it has written m_owner. So one of the two sees the other.
  std::atomic<std::uint64_t> m_owner{0};    ///< a thread's number, 0: nobody's turn
  std::atomic<std::uint32_t> m_waiting{0};  ///< how many wait
  std::condition_variable m_given;          ///< a waiter must look again
};

}  // namespace tarsia::registry
