// A TCP connection whose every step has a deadline.
#pragma once

#include <string>
#include <string_view>

#include "base/file.h"
#include "cache/remote/store.h"

namespace tarsia::cache {

/// Connects within k_connect and the deadline. Returns "" or why it failed.
std::string connect_to(const std::string& host, const std::string& port, Deadline deadline, UniqueFd& socket);

/// Sends all of it; no SIGPIPE. Returns "" or why it failed.
std::string send_all(int socket, std::string_view bytes, Deadline deadline);

/// Receives what is there, at least one byte, up to `size`. Returns "" or why it failed; 0 bytes: the other
/// side closed.
std::string receive(int socket, char* bytes, std::size_t size, Deadline deadline, std::size_t& n);

}  // namespace tarsia::cache
