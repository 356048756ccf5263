// Waits for events, for tests: conditions, ends of processes, and threads that wait themselves.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "base/file.h"

namespace tarsia {

/// How long a test waits for what must happen.
inline constexpr std::chrono::seconds k_patience{60};

/// Asks again and again until `condition` is true. Returns false, with a failure, after k_patience.
template <typename Condition>
bool wait_until(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + k_patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      ADD_FAILURE() << "waited for a minute";
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

/// The end of a process that need not be a child. Made while the process lives.
class ProcessEnd {
 public:
  explicit ProcessEnd(pid_t pid) : m_process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u))) {
    EXPECT_TRUE(m_process) << "there is no process " << pid << ", or this kernel has no pidfds";
  }
  /// Whether the process ends within k_patience. It may not be reaped yet.
  bool comes() const {
    pollfd watched{m_process.get(), POLLIN, 0};
    return ::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds(k_patience).count())) == 1;
  }

 private:
  UniqueFd m_process;
};

/// Kills a process and waits until it is dead, whoever reaps it.
inline void kill_and_wait(pid_t pid) {
  const ProcessEnd end(pid);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ASSERT_TRUE(end.comes());
}

/// Counts threads that wait, of this process and of children forked from it.
class Waiters {
 public:
  Waiters() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    m_seen.reset(ends[0]);
    m_says.reset(ends[1]);
  }
  /// A check for one thread's InterruptScope. It counts the thread when the thread's wait first asks it.
  std::function<bool()> check() const {
    return [this, said = false]() mutable {
      if (!said) said = ::write(m_says.get(), "w", 1) == 1;
      return false;
    };
  }
  /// Returns when so many more threads have waited; false, with a failure, after k_patience without one.
  bool come(int count) const {
    for (int i = 0; i < count; ++i) {
      pollfd watched{m_seen.get(), POLLIN, 0};
      char byte;
      if (::poll(&watched, 1, static_cast<int>(std::chrono::milliseconds(k_patience).count())) != 1 ||
          ::read(m_seen.get(), &byte, 1) != 1) {
        ADD_FAILURE() << i << " of " << count << " threads wait";
        return false;
      }
    }
    return true;
  }

 private:
  UniqueFd m_seen, m_says;
};

/// Whether all other threads of this process sleep in the kernel.
inline bool other_threads_sleep() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == std::to_string(::gettid())) continue;
    std::ifstream file(task.path() / "stat");
    const std::string stat((std::istreambuf_iterator<char>(file)), {});
    // The state follows the name, which is in brackets and may hold any character.
    if (const std::size_t name = stat.rfind(')'); name != stat.npos && stat.substr(name, 3) != ") S")
      return false;
  }
  return true;
}

}  // namespace tarsia
