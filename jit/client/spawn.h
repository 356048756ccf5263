// Starting a worker's process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/client/child.h"

namespace tarsia::jit {

struct SpawnPlan {
  std::string program;
  std::vector<std::string> arguments;
  int socket = -1;                 ///< becomes k_worker_fd; no other descriptor is inherited
  int standard_error = -1;         ///< standard input and output become /dev/null
  std::uint64_t memory_bytes = 0;  ///< RLIMIT_DATA; 0: as ours
  bool bare = false;               ///< it gets the few variables of the environment that it needs
};

/// Starts the program in a process group of its own, with default signals. Gives 0 or an errno.
int spawn(const SpawnPlan& plan, ChildProcess& started);

}  // namespace tarsia::jit
