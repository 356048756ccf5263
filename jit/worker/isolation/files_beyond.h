// Files that a confined worker may not open itself: it asks its client for them.
//
// The client knows what the request may read (jit/client/readable_files.h). Clang's files, NVRTC's and LLD's
// all come through open(), fopen() or opendir(), which the worker's program defines (interposed.cpp): where
// the kernel answers EACCES, they ask here. So nobody else knows of it, and a file costs one exchange more
// only if it belongs to the user.
#pragma once

#include <string>

#include "base/file.h"
#include "jit/compile.h"

namespace tarsia::jit {

/// As long as it lives, the client of `files` is asked. One at a time; any thread of the compile may ask.
class FilesBeyond {
 public:
  explicit FilesBeyond(PartStore& files);
  ~FilesBeyond();
  FilesBeyond(const FilesBeyond&) = delete;
  FilesBeyond& operator=(const FilesBeyond&) = delete;

  /// Notes that the file at `by`, which is on disk, includes `path`: the client gives out no file beyond the
  /// request's folders unless one that it gives out names it.
  static void note(const std::string& path, const std::string& by);

  /// In a forked child that compiles nothing: the client's socket is not its own.
  static void forbid();
};

/// The file or folder, opened by the client; none if there is no client, or it refuses.
UniqueFd open_beyond(const char* path, bool folder);

}  // namespace tarsia::jit
