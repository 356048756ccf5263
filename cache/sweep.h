// Keeping a store within its size: what was not used for the longest time goes first.
#pragma once

#include <cstdint>
#include <string>

namespace tarsia::cache {

struct SweepResult {
  std::uint64_t bytes = 0;  ///< left
  std::uint64_t evicted = 0;
};

/// Adds `bytes` to the running total of the store at `root`, and sweeps when it is beyond `max_bytes` (0: no
/// limit) or unknown. Several processes may call it at once; one does it under the lock and the others do not
/// wait for it.
SweepResult account(const std::string& root, const std::string& lock_path, std::uint64_t bytes,
                    std::uint64_t max_bytes);

/// The caller sees to it that two sweeps of a store do not overlap; `account` does. Walks the store and
/// removes entries, the longest unused first, until at most nine tenths of `max_bytes` are left. Entries that
/// somebody has open stay. Temporary files that a killed process left go as well.
SweepResult sweep(const std::string& root, std::uint64_t max_bytes);

}  // namespace tarsia::cache
