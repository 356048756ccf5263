// Keeps a store within its size: the entries unused for the longest time go first.
#pragma once

#include <cstdint>
#include <string>

namespace tarsia::cache {

struct SweepResult {
  std::uint64_t bytes = 0;  ///< left
  std::uint64_t evicted = 0;
  std::uint64_t kept = 0;  ///< would have gone, but somebody has them open, or they could not be removed
};

/// Adds `bytes` to the running total of the store at `root`. Sweeps if the total is beyond `max_bytes` (0:
/// no limit) or unknown. Several processes may call it at once: one does it under the lock, and the others
/// do not wait for it.
SweepResult account(const std::string& root, const std::string& lock_path, std::uint64_t bytes,
                    std::uint64_t max_bytes);

/// Walks the store and removes entries, the longest unused first, until at most nine tenths of `max_bytes`
/// are left. Entries that somebody has open stay. Temporary files of killed processes go as well. Two
/// sweeps of a store must not overlap: the caller ensures that, as `account` does.
SweepResult sweep(const std::string& root, std::uint64_t max_bytes);

/// Removes entries on request, the longest unused first, until at most `max_bytes` are left: 0 removes all
/// that nobody has open. Waits for sweeps under way, and throws Error if one does not end.
SweepResult prune(const std::string& root, const std::string& lock_path, std::uint64_t max_bytes);

}  // namespace tarsia::cache
