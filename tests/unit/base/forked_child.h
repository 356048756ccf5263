// A forked child that says something, for tests.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <latch>
#include <string>
#include <thread>

namespace tarsia {

/// What f, called in a forked child, gives. A child that hangs is ended by a signal, and fails the test.
template <class F>
std::string in_forked_child(F&& f) {
  int ends[2];
  if (::pipe(ends) != 0) {
    ADD_FAILURE() << "no pipe";
    return {};
  }
  const pid_t child = ::fork();
  if (child < 0) {
    ADD_FAILURE() << "no child: " << std::strerror(errno);
    for (const int end : ends) ::close(end);
    return {};
  }
  if (child == 0) {
    ::alarm(60);
    const std::string said = f();
    const bool sent = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(sent ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0 || (n < 0 && errno == EINTR);)
    said.append(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_FALSE(WIFSIGNALED(status)) << "the child was ended by signal " << WTERMSIG(status)
                                    << (WTERMSIG(status) == SIGALRM ? ": it did not go on" : "");
  EXPECT_FALSE(WIFEXITED(status) && WEXITSTATUS(status)) << "the child ended with " << WEXITSTATUS(status);
  return said;
}

/// Forks children that do `child`, while a thread does `parent` over and over.
template <class P, class C>
void expect_children_to_go_on(P&& parent, C&& child) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer's allocator may be locked in a forked child";
#endif
  std::atomic<bool> done{false};
  std::latch begun(1);
  std::thread busy([&] {
    parent(0);
    begun.count_down();
    for (int i = 1; !done; ++i) {
      parent(i);
      std::this_thread::yield();  // else it may keep a mutex from the thread that forks
    }
  });
  begun.wait();
  for (int i = 0; i < 150 && !testing::Test::HasFailure(); ++i)
    EXPECT_EQ(in_forked_child([&] { return child(), std::string("went on"); }), "went on");
  done = true;
  busy.join();
}

}  // namespace tarsia
