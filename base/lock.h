// Locks between processes: the kernel's, which die with their holder, never a file's existence.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <string>

#include "base/file.h"

namespace tarsia {

/// An exclusive lock on a file, held until destroyed or until the process dies. It survives neither
/// exec (the descriptor is closed) nor fork: a forked child does not hold it, nor keep it from being freed.
class FileLock {
 public:
  FileLock() = default;
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock() { release(); }

  enum class Status { locked, busy, failed };
  /// Opens the file, makes it if it is missing, and locks it without waiting. `failed` if it cannot be
  /// opened or is no regular file; errno says why. The file is never removed: that would let two processes
  /// hold locks on different files of one name.
  Status try_lock(const std::string& path);
  /// The same, waiting until the deadline in small steps.
  Status lock_until(const std::string& path, std::chrono::steady_clock::time_point deadline);
  void release();

 private:
  UniqueFd m_fd;
  unsigned m_forks = 0;  ///< the number of forks before the process took the lock
};

}  // namespace tarsia
