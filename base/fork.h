// fork() in a program that uses threads: what a child has to put right.
#pragma once

#include <mutex>

namespace tarsia {

/// An object that stays consistent across fork(). Derived classes lock their mutex in before_fork, so that no
/// other thread is in the middle of a change when the child's copy is made. That mutex is a leaf: whoever
/// holds it takes no other, else fork could deadlock.
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

}  // namespace tarsia
