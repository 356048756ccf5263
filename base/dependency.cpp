// Decides whether a file's status vouches for its content.
//
// A file's (device, inode, size, mtime, ctime) reveals every change but one: a second change so soon after
// the first that both got the same time. File systems count time in steps: the kernel's 4 ms, 1 s in some
// network file systems, 2 s in FAT. So a stamp younger than k_settled vouches for nothing, and the content
// is read again until the file has come to rest. Its age counts from when the stamp was taken, not from
// when it is used: a change right after the reading still gets the old time. If the file server's clock
// differs, a file looks younger (and is read again) or older by the difference. Nothing else depends on
// clocks.
#include "base/dependency.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace tarsia {
namespace {

constexpr std::int64_t k_settled = 3'000'000'000;  // ns
constexpr std::uint64_t k_max_dependency = std::uint64_t{1} << 30;

}  // namespace

FileStamp vouching_stamp(const struct stat& status) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t time = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  const FileStamp stamp = FileStamp::of(status);
  return std::max(stamp.mtime_ns, stamp.ctime_ns) + k_settled < time ? stamp : FileStamp{};
}

int read_stamped(const std::string& path, std::uint64_t limit, std::string& bytes, FileStamp& stamp) {
  UniqueFd fd;
  struct stat status;
  // Headers are often links into a toolkit.
  if (const int error = open_regular(path, fd, status, Links::follow)) return error;
  stamp = vouching_stamp(status);
  return read_all(fd.get(), bytes, limit);
}

DependencyState check(const Dependency& dependency, FileStamp& stamp) {
  struct stat status;
  if (::stat(dependency.path.c_str(), &status) != 0) {
    const bool gone = errno == ENOENT || errno == ENOTDIR;
    return gone && dependency.absent ? DependencyState::same : DependencyState::changed;
  }
  if (dependency.absent) return DependencyState::changed;
  if (dependency.stamp != FileStamp{} && FileStamp::of(status) == dependency.stamp)
    return DependencyState::same;
  // Opened only now: a device may react to being opened.
  std::string bytes;
  if (!S_ISREG(status.st_mode) || read_stamped(dependency.path, k_max_dependency, bytes, stamp) != 0 ||
      hash_bytes(bytes) != dependency.content) {
    return DependencyState::changed;
  }
  return DependencyState::vouched;
}

const Dependency* renew_stamps(std::span<Dependency> dependencies) {
  for (Dependency& dependency : dependencies) {
    FileStamp stamp;
    switch (check(dependency, stamp)) {
      case DependencyState::same:
        break;
      case DependencyState::vouched:
        dependency.stamp = stamp;
        break;
      case DependencyState::changed:
        return &dependency;
    }
  }
  return nullptr;
}

}  // namespace tarsia
