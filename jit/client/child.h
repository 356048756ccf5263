// A child process that can be signalled and waited for without confusing it with another process.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "base/file.h"

namespace tarsia::jit {

/// Owns the duty to reap a child. A number (pid) names another process as soon as its own is reaped, and
/// our program may reap it: it may wait for all its children, or ignore SIGCHLD. A pidfd names one process
/// for ever. If the kernel has none (before Linux 5.3), or a sandbox refuses it, the process is identified
/// by its number and the time at which it started. Not thread-safe.
class ChildProcess {
 public:
  ChildProcess() = default;
  /// `pidfd` may be empty.
  ChildProcess(pid_t pid, UniqueFd pidfd);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&& other) noexcept;

  /// Whether this holds a child that was not reaped.
  explicit operator bool() const { return m_pid > 0; }
  pid_t pid() const { return m_pid; }
  /// Becomes readable when the process ends; -1 if the kernel has no pidfds.
  int fd() const { return m_pidfd.get(); }
  /// SIGKILL to this process, and to no other.
  void kill() const;

  /// How it ended.
  struct End {
    enum class How { exited, signalled, unknown } how = How::unknown;  ///< unknown: somebody else reaped it
    int number = 0;                                                    ///< exit code or signal
    std::uint64_t peak_bytes = 0;                                      ///< of its resident memory
  };
  /// Reaps the child if it has ended, and never waits. True once it is gone; this then holds no process any
  /// more.
  bool reap(End& end);
  /// Lets go of it without touching it: for a forked child, since the process is its parent's.
  void abandon();

 private:
  pid_t m_pid = -1;
  UniqueFd m_pidfd;
  std::uint64_t m_start_time = 0;  ///< in clock ticks since the boot; used if pidfds do not work
};

}  // namespace tarsia::jit
