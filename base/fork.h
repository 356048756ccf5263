// fork() in a program that uses threads: what a child has to put right.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace tarsia {

/// An object that stays consistent across fork(). Derived classes lock their mutex in before_fork, so that no
/// other thread is in the middle of a change when the child's copy is made. That mutex is a leaf: whoever
/// holds it takes no other, else fork could deadlock.
///
/// Such an object is no static of a function: where another thread was in the midst of making it at the fork,
/// the child would wait for that thread for ever. It stands at the scope of a file, or is made by
/// made_once().
class ForkAware {
 public:
  ForkAware(const ForkAware&) = delete;
  ForkAware& operator=(const ForkAware&) = delete;

 protected:
  ForkAware() = default;
  ~ForkAware() = default;
  /// Called at the end of the derived constructor and the start of the derived destructor, without its mutex.
  void watch_forks();
  void forget_forks();

 private:
  friend struct ForkRegistry;
  virtual void before_fork() = 0;
  virtual void after_fork_in_parent() = 0;
  /// Only the calling thread exists. What other processes share (descriptors, children) is to be dropped,
  /// not used.
  virtual void after_fork_in_child() = 0;
};

/// A mutex that a forked child finds free, with what it guards whole: fork() waits for whoever holds it. A
/// leaf: whoever holds it takes no other, waits for nothing and calls nobody's code.
class ForkSafeMutex final : public ForkAware {
 public:
  ForkSafeMutex() { watch_forks(); }
  ~ForkSafeMutex() { forget_forks(); }
  void lock() { m_mutex.lock(); }
  void unlock() { m_mutex.unlock(); }
  bool try_lock() { return m_mutex.try_lock(); }

 private:
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override { m_mutex.unlock(); }
  std::mutex m_mutex;
};

/// A mutex held while others' code runs (the loader, the CUDA driver), which may itself fork: fork() does not
/// wait for it. A forked child gets a new one, free; what it guards is to hold at every moment.
class ForkRenewedMutex final : public ForkAware {
 public:
  ForkRenewedMutex() { watch_forks(); }
  ~ForkRenewedMutex() { forget_forks(); }
  void lock() { m_mutex->lock(); }
  void unlock() { m_mutex->unlock(); }

 private:
  void before_fork() override {}
  void after_fork_in_parent() override {}
  // The old one is left as it is: it may be locked, and by the thread that forks.
  void after_fork_in_child() override { m_mutex = new std::mutex; }
  std::mutex* m_mutex = new std::mutex;
};

/// Says that this thread opens, closes or searches libraries while it lives; may nest. fork() of other
/// threads waits for it, a second at most, since a library's initialisers may want anything, also what the
/// forking thread holds. The cause is told in fork.cpp.
class InLoader {
 public:
  InLoader() noexcept;
  ~InLoader();
  InLoader(const InLoader&) = delete;
  InLoader& operator=(const InLoader&) = delete;
};

/// What `make` gives, made at first use and never destroyed. Threads that come at once may each make one, of
/// which one stays. Other than a static of a function, it does not keep a forked child waiting for a thread
/// of its parent that was in the midst of making it.
template <class T, class F>
T& made_once(std::atomic<T*>& slot, F&& make) {
  if (T* known = slot.load(std::memory_order_acquire)) return *known;
  std::unique_ptr<T> made(new T(make()));
  T* known = nullptr;
  return slot.compare_exchange_strong(known, made.get()) ? *made.release() : *known;
}

}  // namespace tarsia
