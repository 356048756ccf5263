// Keeps the running total of the store's bytes, and removes old entries.
//
// The total is a hint. Its lock is waited for only shortly, and every sweep corrects it. An entry counts
// with the blocks that it takes, so the limit means the disk's space. An entry's mtime is the time of its
// last use: a hit brings it up to date (disk_store.cpp). atime would do where it is kept, but it seldom is.
#include "cache/sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "base/file.h"
#include "base/lock.h"
#include "base/log.h"

namespace tarsia::cache {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t k_litter_age = 3600;  // s: no publish takes an hour

struct File {
  std::string path;
  std::uint64_t bytes;
  std::int64_t used;  ///< ns
};

template <typename Visit>
void for_each_name(const std::string& folder, Visit visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), &::closedir);
  if (!dir) return;
  while (const dirent* item = ::readdir(dir.get())) {
    if (std::strcmp(item->d_name, ".") != 0 && std::strcmp(item->d_name, "..") != 0) visit(item->d_name);
  }
}

std::uint64_t bytes_of(const struct stat& status) {
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(status.st_blocks) * 512,
                                 static_cast<std::uint64_t>(status.st_size));
}

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
  const auto take = [&](const std::string& path, const char* name) {
    struct stat status;
    if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
    if (std::strstr(name, ".tmp.") != nullptr) {
      // The clock decides. A step of it costs at worst a publish in progress, which then fails.
      if (now - status.st_mtim.tv_sec > k_litter_age) ::unlink(path.c_str());
      return;
    }
    files.push_back({path, bytes_of(status), FileStamp::of(status).mtime_ns});
  };
  for_each_name(root, [&](const char* kind) {
    const std::string kind_dir = root + '/' + kind;
    if (std::strcmp(kind, "locks") == 0 || std::strncmp(kind, "size", 4) == 0) return;
    for_each_name(kind_dir, [&](const char* shard) {
      const std::string path = kind_dir + '/' + shard;
      if (std::strcmp(kind, "aside") == 0) {
        take(path, shard);
        // Evidence of damage is kept, but it goes before anything useful does.
        if (!files.empty() && files.back().path == path) files.back().used = 0;
      } else {
        for_each_name(path, [&](const char* name) { take(path + '/' + name, name); });
      }
    });
  });
  return files;
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
  SweepResult result;
  for (const File& file : files) result.bytes += file.bytes;
  if (max_bytes == 0 || result.bytes <= max_bytes) return result;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  // Makes some spare room at once, so that the next entry does not start another sweep.
  const std::uint64_t goal = max_bytes - max_bytes / 10;
  for (const File& file : files) {
    if (result.bytes <= goal) break;
    if (!evict(file.path)) continue;
    result.bytes -= file.bytes;
    ++result.evicted;
  }
  log().info("swept {}: {} entries went, {} bytes are left", root, result.evicted, result.bytes);
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
