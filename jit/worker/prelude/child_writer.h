// Bytes that a forked child makes beside this process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>

#include "base/file.h"

namespace tarsia::jit {

/// One child. Used by the thread that compiles; other threads must stand still while it forks.
class ChildWriter {
 public:
  ChildWriter() = default;
  ~ChildWriter() { cancel(); }
  ChildWriter(const ChildWriter&) = delete;
  ChildWriter& operator=(const ChildWriter&) = delete;

  /// Forks. The child calls `make`, which may leave its memory in any state, and ends.
  void start(const std::function<std::string()>& make);
  /// Ends the child.
  void cancel();
  /// Waits for the child. None if none was started, or if it made nothing.
  std::optional<std::string> finish();

 private:
  pid_t m_child = -1;
  UniqueFd m_file;
};

}  // namespace tarsia::jit
