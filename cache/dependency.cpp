// Statuses that vouch for contents.
//
// A file's (device, inode, size, mtime, ctime) tells every change of it but one: a second change so soon
// after the first that both got the same time. File systems count time in steps: the kernel's 4 ms, 1 s in
// some network file systems, 2 s in FAT. So a stamp younger than k_settled vouches for nothing, and the
// content is read again until the file has come to rest. A clock that runs differently on the file's server
// makes a file look younger (it is read again) or older by the difference; nothing else depends on clocks.
#include "cache/dependency.h"

#include <algorithm>
#include <cerrno>
#include <ctime>

namespace tarsia::cache {
namespace {

constexpr std::int64_t k_settled = 3'000'000'000;  // ns
constexpr std::uint64_t k_max_dependency = std::uint64_t{1} << 30;

/// The content and the stamp under which it was read.
bool read_content(const std::string& path, Digest& content, FileStamp& stamp) {
  // Headers are often links into a toolkit, so links are followed; what they lead to must be a file.
  struct stat status;
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  stamp = FileStamp::of(status);
  try {
    content = hash_bytes(read_file(path, k_max_dependency));
  } catch (const std::exception&) {
    return false;
  }
  return ::stat(path.c_str(), &status) == 0 && FileStamp::of(status) == stamp;
}

}  // namespace

FileStamp trusted(const FileStamp& stamp) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t time = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  return std::max(stamp.mtime_ns, stamp.ctime_ns) + k_settled < time ? stamp : FileStamp{};
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
  Digest content;
  if (!read_content(dependency.path, content, stamp) || content != dependency.content) {
    return DependencyState::changed;
  }
  stamp = trusted(stamp);
  return DependencyState::vouched;
}

}  // namespace tarsia::cache
