// Files that a result was made from, and the stamps that vouch for their contents.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>

#include "base/file.h"
#include "base/hash.h"

namespace tarsia {

/// A file that a result was made from besides its key.
struct Dependency {
  std::string path;
  Digest content{};     ///< of the bytes that were read; meaningless if absent
  bool absent = false;  ///< it was looked for and not there
  FileStamp
      stamp;  ///< a vouching_stamp: while the file bears it, its content is `content`; zero: nothing vouches
};

/// Among what a compile looked for in vain: a name led past the folders in which it was searched, by ".." or
/// as a whole path. Which file it found depends on where folders lie on this machine (cache/place.h).
inline constexpr char k_climbed[] = "/tarsia/an include that climbs";

/// The stamp of a file of that status, or all zero. The stamp reveals every later change of the file if the
/// last change is long enough ago not to share its time with another one. To vouch for a content, it must
/// be taken before the content is read.
FileStamp vouching_stamp(const struct stat& status);

/// Reads a regular file. Follows symbolic links, and never waits on a FIFO. `stamp` is the vouching stamp
/// of the bytes. Returns 0 or an errno: EINVAL if it is no regular file, EFBIG beyond `limit`.
int read_stamped(const std::string& path, std::uint64_t limit, std::string& bytes, FileStamp& stamp);

/// How a dependency compares with the file system now.
enum class DependencyState {
  same,     ///< the stamp vouches, or it is absent as it was
  vouched,  ///< the content was read and is the same; the stamp given is new (or zero: too fresh to vouch)
  changed,  ///< other content, appeared, gone, unreadable, or no regular file
};

/// Looks only at the file's status, and at its content if the stamp differs. `stamp` may then replace the
/// dependency's.
DependencyState check(const Dependency& dependency, FileStamp& stamp);

/// Checks all, and gives them their new stamps. Returns the first that has changed; null if none has.
const Dependency* renew_stamps(std::span<Dependency> dependencies);

}  // namespace tarsia
