// Files that an entry was made from besides its key.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/hash.h"

namespace tarsia::cache {

struct Dependency {
  std::string path;
  Digest content{};     ///< of its bytes; meaningless if absent
  bool absent = false;  ///< it was looked for and not there
  FileStamp stamp;      ///< while the file bears it, its content is `content`; all zero: nothing vouches
};

/// How a dependency compares with the file system now.
enum class DependencyState {
  same,     ///< the stamp vouches, or it is absent as it was
  vouched,  ///< the content was read and is the same; the stamp given is new (or zero: too fresh to vouch)
  changed,  ///< other content, appeared, gone, unreadable, or no regular file
};

/// Only looks at the file's status, unless the stamp differs: then at its content. `stamp` is what may
/// replace the dependency's.
DependencyState check(const Dependency& dependency, FileStamp& stamp);

/// The stamp, if from now on it tells every change of the file: that is when the last change is long enough
/// ago not to share its time with another one. Else all zero.
FileStamp trusted(const FileStamp& stamp);

}  // namespace tarsia::cache
