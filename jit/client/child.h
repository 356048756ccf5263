// A child process that is signalled and waited for without a doubt about which process that is.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/file.h"

namespace tarsia::jit {

/// Owns the duty to reap a child. A number (pid) names another process as soon as its own is reaped, and the
/// program that we live in may reap it: it may wait for all its children, or ignore SIGCHLD. A pidfd names
/// one process for ever. Where the kernel has none (before Linux 5.3) or a sandbox refuses it, the process is
/// known by its number and the time it started. Not thread-safe.
class ChildProcess {
 public:
  ChildProcess() = default;
  /// `pidfd` may be empty.
  ChildProcess(pid_t pid, UniqueFd pidfd);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// Whether there is one that was not reaped.
  explicit operator bool() const { return m_pid > 0; }
  pid_t pid() const { return m_pid; }
  /// Becomes readable when the process ends; -1 where the kernel has no such thing.
  int fd() const { return m_pidfd.get(); }
  /// SIGKILL to this process, and to no other.
  void kill() const;

  /// How it ended.
  struct End {
    enum class How { exited, signalled, unknown } how = How::unknown;  ///< unknown: somebody else reaped it
    int number = 0;                                                    ///< exit code or signal
    std::uint64_t peak_bytes = 0;                                      ///< of its resident memory
  };
  /// Reaps it if it has ended; never waits. True once it is gone; then this holds no process any more.
  bool reap(End& end);
  /// Drops it without touching it: for a forked child, whose parent's process it is.
  void abandon();

 private:
  pid_t m_pid = -1;
  UniqueFd m_pidfd;
  std::uint64_t m_start_time = 0;  ///< in clock ticks since the boot; for where pidfds do not work
};

}  // namespace tarsia::jit
