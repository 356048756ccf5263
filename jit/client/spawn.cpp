// vfork and exec. A plain fork would copy the page tables of a process that may hold a terabyte of mappings;
// posix_spawn can set neither limits nor the OOM score. Between vfork and exec the child shares our memory:
// it makes system calls and touches nothing but `Child`.
#include "jit/client/spawn.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "base/file.h"
#include "jit/protocol.h"

extern char** environ;

namespace tarsia::jit {
namespace {

// Deeply nested sources recurse deeply.
constexpr rlim_t k_stack = rlim_t{64} << 20;
constexpr rlim_t k_file_size = rlim_t{2} << 30;

struct Child {
  const char* program;
  char* const* arguments;
  int socket;
  int standard_error;
  int null;
  rlim_t memory;
  volatile int error = 0;  ///< written by the child, behind the optimiser's back
};

void lower_limit(int resource, rlim_t wanted) {
  struct rlimit limit;
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  if (limit.rlim_max != RLIM_INFINITY) wanted = std::min(wanted, limit.rlim_max);
  limit.rlim_cur = wanted;
  if (resource != RLIMIT_STACK) limit.rlim_max = wanted;
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

[[noreturn]] void become_worker(Child& child) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);  // some numbers refuse, as they should
  }
  ::setpgid(0, 0);
  lower_limit(RLIMIT_CORE, 0);
  lower_limit(RLIMIT_FSIZE, k_file_size);
  lower_limit(RLIMIT_STACK, k_stack);
  if (child.memory != 0) lower_limit(RLIMIT_DATA, child.memory);
  // When memory runs out, the kernel shall take the compiler and not the user's program.
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    static_cast<void>(::write(score, "500", 3) == 3);
    ::close(score);
  }
  // All sources lie above k_worker_fd (see spawn), so that none is overwritten before its turn.
  if (::dup2(child.null, 0) < 0 || ::dup2(child.null, 1) < 0 || ::dup2(child.standard_error, 2) < 0 ||
      ::dup2(child.socket, k_worker_fd) < 0) {
    child.error = errno;
    ::_exit(127);
  }
#ifdef SYS_close_range
  ::syscall(SYS_close_range, k_worker_fd + 1, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
#endif
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::execve(child.program, child.arguments, environ);
  child.error = errno;
  ::_exit(127);
}

/// A copy of the descriptor above those that the child is given.
UniqueFd lift(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, k_worker_fd + 1));
}

}  // namespace

pid_t spawn(const SpawnPlan& plan) {
  const UniqueFd opened(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!opened) return -errno;
  const UniqueFd null = lift(opened.get()), socket = lift(plan.socket), words = lift(plan.standard_error);
  if (!null || !socket || !words) return -errno;

  std::vector<char*> arguments{const_cast<char*>(plan.program.c_str())};
  for (const std::string& argument : plan.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  Child child{plan.program.c_str(), arguments.data(), socket.get(),
              words.get(),          null.get(),       plan.memory_bytes};

  // A signal handler of ours that ran in the child would run on our memory.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::vfork();
  if (pid == 0) become_worker(child);
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return -fork_error;
  if (child.error != 0) {
    ::waitpid(pid, nullptr, 0);
    return -child.error;
  }
  return pid;
}

}  // namespace tarsia::jit
