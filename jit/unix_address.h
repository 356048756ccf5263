// Addresses of Unix sockets.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <string>

namespace tarsia::jit {

struct UnixAddress {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};

  static constexpr std::size_t k_longest = sizeof address.sun_path - 1;
  /// The path has k_longest bytes at most.
  explicit UnixAddress(const std::string& path) { path.copy(address.sun_path, k_longest); }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
  static constexpr socklen_t size() { return sizeof address; }
};

}  // namespace tarsia::jit
