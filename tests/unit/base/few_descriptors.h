// A limit of open files, for tests.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"

namespace tarsia {

/// While it lives, this process can open so many more files (fewer where numbers between open ones are free).
class FewDescriptors {
 public:
  explicit FewDescriptors(unsigned left) {
    ::getrlimit(RLIMIT_NOFILE, &m_before);
    const UniqueFd lowest(::dup(0));
    struct rlimit few = m_before;
    few.rlim_cur = static_cast<rlim_t>(lowest.get()) + left;
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &m_before); }
  FewDescriptors(const FewDescriptors&) = delete;

 private:
  struct rlimit m_before;
};

}  // namespace tarsia
