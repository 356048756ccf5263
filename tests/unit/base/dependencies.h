// Dependencies on files as they are now, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "base/dependency.h"
#include "base/file.h"
#include "base/hash.h"

namespace tarsia {

inline FileStamp stamp_of(const std::string& path) {
  struct stat status;
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return FileStamp::of(status);
}

/// A dependency on the file as it is now, with its stamp.
inline Dependency on(const std::string& path) {
  return {.path = path, .content = hash_bytes(read_file(path)), .stamp = stamp_of(path)};
}

inline Dependency on_absence_of(const std::string& path) {
  return {.path = path, .absent = true};
}

}  // namespace tarsia
