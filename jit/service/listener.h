// The socket that a service listens at.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/file.h"

namespace tarsia::jit {

/// A Unix socket of mode 0600 at the path, which is removed again. A socket that nobody listens at any more
/// is replaced. Of several that want one path at once, one has it.
class Listener {
 public:
  /// Throws Error naming the path, if it cannot be had.
  explicit Listener(std::string path);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  int fd() const { return m_socket.get(); }
  /// The next connection of a process of this user, and its id. None if there is none; errno says why.
  UniqueFd accept(pid_t& peer) const;

 private:
  std::string m_path;
  UniqueFd m_socket;
  std::uint64_t m_device = 0, m_inode = 0;  ///< of the path as this made it
};

}  // namespace tarsia::jit
