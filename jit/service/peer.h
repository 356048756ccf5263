// The process at the other end of a connection.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>

#include "base/file.h"

namespace tarsia::jit {

/// Known by the kernel's word, for as long as the connection lasts. A connection says little about it: a
/// child that it forked may keep the socket open after its end, and one that is stopped keeps silent. Not
/// thread-safe.
class Peer {
 public:
  explicit Peer(pid_t pid);

  pid_t pid() const { return m_pid; }
  /// Becomes readable when it ends; -1 if the kernel does not tell.
  int ended_fd() const { return m_pidfd.get(); }
  /// Whether every look since at least `least` ago has found it stopped (SIGSTOP, a terminal, a debugger).
  bool stopped_for(std::chrono::milliseconds least);

 private:
  pid_t m_pid;
  UniqueFd m_pidfd;
  std::optional<std::chrono::steady_clock::time_point> m_stopped;  ///< the first of these looks
};

}  // namespace tarsia::jit
