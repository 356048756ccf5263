// Starting a worker's process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tarsia::jit {

struct SpawnPlan {
  std::string program;
  std::vector<std::string> arguments;
  int socket = -1;                 ///< becomes k_worker_fd; no other descriptor is inherited
  int standard_error = -1;         ///< standard input and output become /dev/null
  std::uint64_t memory_bytes = 0;  ///< RLIMIT_DATA; 0: as ours
};

/// Starts the program in a process group of its own, with default signals. Gives its pid, or -errno.
pid_t spawn(const SpawnPlan& plan);

}  // namespace tarsia::jit
