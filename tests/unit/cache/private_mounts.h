// File systems that are read-only, full or noexec, for one test.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace tarsia::cache {

/// Runs `body` in a child with file systems of its own, where root may mount; skips where it may not.
template <typename Body>
void in_private_mounts(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      ::_exit(77);
    }
    body();
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int state = 0;
  ::waitpid(child, &state, 0);
  if (WIFEXITED(state) && WEXITSTATUS(state) == 77) GTEST_SKIP() << "mounting is not allowed here";
  EXPECT_EQ(state, 0);
}

/// Makes a folder read-only, for root too; within in_private_mounts.
inline void make_read_only(const std::string& path) {
  if (::mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0 ||
      ::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr) != 0)
    ::_exit(77);
}

}  // namespace tarsia::cache
