// The socket that a service listens at.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/file.h"

namespace tarsia::jit {

/// A Unix socket of mode 0600 at the path, which is removed again. A socket that nobody listens at any more
/// is replaced.
class Listener {
 public:
  /// Throws Error naming the path, if it cannot be had.
  explicit Listener(std::string path);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int fd() const { return m_socket.get(); }
  /// The next connection of a process of this user, and its id. None if there is none.
  UniqueFd accept(pid_t& peer) const;

 private:
  std::string m_path;
  UniqueFd m_socket;
};

}  // namespace tarsia::jit
