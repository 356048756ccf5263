// Keeps the running total of the store's bytes, and removes old entries.
//
// The total is a hint. Its lock is waited for only shortly, and every sweep corrects it. An entry counts
// with the blocks that it takes, so the limit means the disk's space. An entry's mtime is the time of its
// last use: a hit brings it up to date (disk_store.cpp). atime would do where it is kept, but it seldom is.
#include "cache/sweep.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"
#include "cache/inventory.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t k_litter_age = 3600;  // s: no publish takes an hour

struct File {
  std::string path;
  std::uint64_t bytes;
  std::int64_t used;  ///< ns
};

/// Removes the file unless somebody holds its lock. Sweeps do not overlap, and nothing else changes the
/// file behind a module's name. So the locked file is the removed one.
bool evict(const std::string& path) {
  UniqueFd fd;
  struct stat status;
  if (open_regular(path, fd, status) != 0) return false;
  // Some network file systems cannot lock a file that is open only for reading. There the oldest entries go
  // without a lock.
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
  return ::unlink(path.c_str()) == 0;
}

/// Lists everything of the store that takes space, and removes litter on the way.
std::vector<File> list(const std::string& root) {
  std::vector<File> files;
  const std::int64_t now = ::time(nullptr);
  for_each_file(root, [&](const StoreFile& file) {
    if (!file.is_file()) return;
    if (file.is_temporary()) {
      // The clock decides. A step of it costs at worst a publish in progress, which then fails.
      if (now - file.status.st_mtim.tv_sec > k_litter_age) ::unlink(file.path.c_str());
      return;
    }
    // Evidence of damage is kept, but it goes before anything useful does.
    const std::int64_t used = file.folder == "aside" ? 0 : FileStamp::of(file.status).mtime_ns;
    files.push_back({file.path, bytes_of(file.status), used});
  });
  return files;
}

/// Removes the longest unused until `goal` bytes are left.
SweepResult sweep_to(std::vector<File> files, std::uint64_t goal) {
  SweepResult result;
  for (const File& file : files) result.bytes += file.bytes;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (result.bytes <= goal) break;
    if (!evict(file.path)) {
      ++result.kept;
      continue;
    }
    result.bytes -= file.bytes;
    ++result.evicted;
  }
  return result;
}

/// The total as written in the file, with its complement as a check.
bool read_total(int fd, std::uint64_t& total) {
  std::uint64_t numbers[2];
  if (read_at(fd, reinterpret_cast<char*>(numbers), sizeof numbers, 0) != 0 || numbers[1] != ~numbers[0])
    return false;
  total = numbers[0];
  return true;
}

void write_total(int fd, std::uint64_t total) {
  const std::uint64_t numbers[2] = {total, ~total};
  if (::pwrite(fd, numbers, sizeof numbers, 0) != sizeof numbers)
    log().debug("the cache's size could not be kept");
}

}  // namespace

SweepResult sweep(const std::string& root, std::uint64_t max_bytes) {
  std::vector<File> files = list(root);
  std::uint64_t bytes = 0;
  for (const File& file : files) bytes += file.bytes;
  if (max_bytes == 0 || bytes <= max_bytes) return {.bytes = bytes};
  // Makes some spare room at once, so that the next entry does not start another sweep.
  const SweepResult result = sweep_to(std::move(files), max_bytes - max_bytes / 10);
  log().info("swept {}: {} entries went, {} bytes are left", root, result.evicted, result.bytes);
  return result;
}

SweepResult prune(const std::string& root, const std::string& lock_path, std::uint64_t max_bytes) {
  FileLock lock;
  switch (lock.lock_until(lock_path, std::chrono::steady_clock::now() + 10s)) {
    case FileLock::Status::locked:
      break;
    case FileLock::Status::busy:
      throw Error("the cache at " + root + " is not pruned: another process sweeps it; try again");
    case FileLock::Status::failed:
      throw Error(errno_message("the cache at " + root + " is not pruned: cannot lock " + lock_path, errno));
  }
  const SweepResult result = sweep_to(list(root), max_bytes);
  const UniqueFd fd(
      ::open((root + "/size").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (fd) write_total(fd.get(), result.bytes);
  return result;
}

SweepResult account(const std::string& root, const std::string& lock_path, std::uint64_t bytes,
                    std::uint64_t max_bytes) {
  SweepResult result;
  FileLock lock;
  if (lock.lock_until(lock_path, std::chrono::steady_clock::now() + 20ms) != FileLock::Status::locked) {
    return result;
  }
  UniqueFd fd(::open((root + "/size").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (!fd) return result;
  std::uint64_t total = 0;
  if (read_total(fd.get(), total) && (max_bytes == 0 || total + bytes <= max_bytes)) {
    result.bytes = total + bytes;
  } else {
    result = sweep(root, max_bytes);
  }
  write_total(fd.get(), result.bytes);
  return result;
}

}  // namespace tarsia::cache
