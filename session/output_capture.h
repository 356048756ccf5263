// Standard output, kept for a while.
#pragma once

#include <string>

#include "base/file.h"

namespace tarsia::session {

/// While it lives, what this process writes to descriptor 1 goes to memory.
class OutputCapture {
 public:
  /// Throws Error without descriptors.
  OutputCapture();
  ~OutputCapture();
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;
  /// Ends it. What was written, up to 16 MiB.
  std::string finish();

 private:
  void restore() noexcept;

  UniqueFd m_before, m_file;
};

}  // namespace tarsia::session
