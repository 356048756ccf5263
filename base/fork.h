// fork() in a program that uses threads: repairs in the child.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace tarsia {

/// An object that stays consistent across fork(). Derived classes lock their mutex in before_fork, so that
/// no other thread is in the middle of a change when the child's copy is made. That mutex is a leaf: a
/// thread that holds it takes no other, or fork could deadlock.
///
/// Such an object must not be a static of a function. If another thread was just making it at the fork, the
/// child would wait for that thread for ever. It stands at file scope, or made_once() makes it.
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
  /// Only the calling thread exists. The child must drop what other processes share (descriptors,
  /// children), not use it.
  virtual void after_fork_in_child() = 0;
};

/// A mutex that is free in a forked child, with consistent data under it: fork() waits for the thread that
/// holds it. It is a leaf: a thread that holds it takes no other mutex, waits for nothing and calls no
/// foreign code.
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

/// A mutex held while foreign code runs (the loader, the CUDA driver). That code may itself fork, so fork()
/// does not wait for it. A forked child gets a new, free mutex. The data under it must be consistent at
/// every moment.
class ForkRenewedMutex final : public ForkAware {
 public:
  ForkRenewedMutex() { watch_forks(); }
  ~ForkRenewedMutex() { forget_forks(); }
  void lock() { m_mutex.lock(); }
  void unlock() { m_mutex.unlock(); }

 private:
  void before_fork() override {}
  void after_fork_in_parent() override {}
  // The old mutex is not destroyed: it may be locked, even by the thread that forks.
  void after_fork_in_child() override { std::construct_at(&m_mutex); }
  std::mutex m_mutex;
};

/// Declares that this thread opens, closes or searches libraries while it lives. May nest. fork() of other
/// threads waits for it, for a second at most: a library's initialisers may need anything, even a lock of
/// the forking thread. fork.cpp tells the cause.
class InLoader {
 public:
  InLoader() noexcept;
  ~InLoader();
  InLoader(const InLoader&) = delete;
  InLoader& operator=(const InLoader&) = delete;
};

/// `make`'s result, made at first use and never destroyed. Threads that come at once may each make one; one
/// of these stays. Unlike a static of a function, it does not make a forked child wait for a thread of its
/// parent that was just making it.
template <class T, class F>
T& made_once(std::atomic<T*>& slot, F&& make) {
  if (T* known = slot.load(std::memory_order_acquire)) return *known;
  std::unique_ptr<T> made(new T(make()));
  T* known = nullptr;
  return slot.compare_exchange_strong(known, made.get()) ? *made.release() : *known;
}

}  // namespace tarsia
