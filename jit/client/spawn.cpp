// Starts a worker by clone, as posix_spawn does, and exec. A plain fork would copy the page tables of a
// process that may hold a terabyte of mappings. posix_spawn can set neither limits nor the OOM score. vfork
// gives no pidfd; one that is opened afterwards could be that of another process, if the program reaps all
// its children. Between clone and exec the parent stands still and the child shares its memory. The child
// makes system calls on a stack of its own and touches nothing but `Child`.
#include "jit/client/spawn.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <initializer_list>
#include <string_view>

#include "base/file.h"
#include "base/machine/sanitizer.h"
#include "jit/protocol.h"

extern char** environ;

namespace tarsia::jit {
namespace {

// Deeply nested sources recurse deeply.
constexpr rlim_t k_stack = rlim_t{64} << 20;
constexpr rlim_t k_file_size = rlim_t{2} << 30;
// Between clone and exec.
constexpr std::size_t k_child_stack = 256 << 10;
// Names that older C libraries lack.
constexpr int k_clone_pidfd = 0x1000;
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

struct Child {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int socket;
  int standard_error;
  int null;
  rlim_t memory;
  volatile int error = 0;  ///< written by the child, behind the optimiser's back
};

/// For functions on the child's stack: AddressSanitizer takes it for a thread's stack that overflowed.
#define TARSIA_IN_CHILD __attribute__((no_sanitize_address))

TARSIA_IN_CHILD void lower_limit(int resource, rlim_t wanted) {
  struct rlimit limit;
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  if (limit.rlim_max != RLIM_INFINITY) wanted = std::min(wanted, limit.rlim_max);
  limit.rlim_cur = wanted;
  if (resource != RLIMIT_STACK) limit.rlim_max = wanted;
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

/// As many open files as the machine allows. A program with a small limit gets errors of its own, but the
/// compiler would take a header that it cannot open for one that does not exist.
TARSIA_IN_CHILD void raise_file_limit() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

[[noreturn]] TARSIA_IN_CHILD void become_worker(Child& child) {
  // The kernel's own call: a sanitizer that the program runs under would note that the program, whose memory
  // this is, has no handlers any more. Some numbers refuse, as they should.
  for (int number = 1; number < NSIG; ++number) {
    const unsigned long normal[4] = {};  // handler, flags, restorer, mask
    ::syscall(SYS_rt_sigaction, number, normal, nullptr, sizeof(unsigned long));
  }
  ::setpgid(0, 0);
  lower_limit(RLIMIT_CORE, 0);
  lower_limit(RLIMIT_FSIZE, k_file_size);
  lower_limit(RLIMIT_STACK, k_stack);
  raise_file_limit();
  if (child.memory != 0) lower_limit(RLIMIT_DATA, child.memory);
  // If memory runs out, the kernel must kill the compiler and not the user's program.
  const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score >= 0) {
    static_cast<void>(::write(score, "500", 3) == 3);
    ::close(score);
  }
  // All sources lie above k_worker_fd (see spawn), so none is overwritten before its turn.
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
  ::execve(child.program, child.arguments, child.environment);
  child.error = errno;
  ::_exit(127);
}

/// A copy of the descriptor, above those that the child is given.
UniqueFd lift(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, k_worker_fd + 1));
}

int run_child(void* child) {
  become_worker(*static_cast<Child*>(child));
}

/// The stack of the child while it shares our memory.
class ChildStack {
 public:
  ChildStack()
      : m_memory(::mmap(nullptr, k_child_stack, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {}
  ChildStack(const ChildStack&) = delete;
  ChildStack& operator=(const ChildStack&) = delete;
  ~ChildStack() {
    if (*this) ::munmap(m_memory, k_child_stack);
  }
  explicit operator bool() const { return m_memory != MAP_FAILED; }
  /// Stacks grow downwards wherever CUDA runs.
  void* top() const { return static_cast<char*>(m_memory) + k_child_stack; }

 private:
  void* m_memory;
};

/// Starts the child and waits until it runs another program or failed to. Returns its pid, or -errno.
pid_t start_child(Child& child, int& pidfd) {
  // Work-around: ThreadSanitizer does not follow clone.
  // Trigger: a child that shares this process's memory, by clone. Symptom: it knows nothing
  // of the child, which runs in the memory that it watches. It turns vfork into a fork. Removal: it follows
  // clone.
  if (is_in_process(*sanitizer_of_mode("thread"))) {
    const pid_t pid = ::vfork();
    // It execs or ends, after calls that signal handlers may make.
    if (pid == 0) become_worker(child);  // NOLINT(clang-analyzer-unix.Vfork)
    return pid < 0 ? -errno : pid;
  }
  const ChildStack stack;
  if (!stack) return -errno;
  constexpr int k_flags = CLONE_VM | CLONE_VFORK | SIGCHLD;
  pid_t pid = ::clone(&run_child, stack.top(), k_flags | k_clone_pidfd, &child, &pidfd);
  // Linux knows the flag or ignores it. Other systems that run Linux programs may refuse it.
  if (pid < 0 && errno == EINVAL) pid = ::clone(&run_child, stack.top(), k_flags, &child);
  return pid < 0 ? -errno : pid;
}

bool is_one_of(std::string_view variable, std::initializer_list<std::string_view> names) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::ranges::find(names, name) != names.end();
}

/// What the loader, LLVM's OpenMP, the CUDA driver, __DATE__ and a sanitizer need to know. What reads sources
/// need not know the rest.
bool is_for_workers(std::string_view variable) {
  return is_one_of(variable,
                   {"LD_LIBRARY_PATH", "CONDA_PREFIX", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "TZ",
                    "TMPDIR", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"});
}

/// Where the key lies that signs modules, and the passwords of shared stores. A sanitizer watches the
/// program, not the compiler.
bool is_secret(std::string_view variable, bool watched) {
  return is_one_of(variable, {"TARSIA_SIGN_KEY", "TARSIA_TRUST", "TARSIA_REMOTE"}) ||
         (watched && is_one_of(variable, {"LD_PRELOAD"}));
}

}  // namespace

int spawn(const SpawnPlan& plan, ChildProcess& started) {
  const UniqueFd opened(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!opened) return errno;
  const UniqueFd null = lift(opened.get()), socket = lift(plan.socket), words = lift(plan.standard_error);
  if (!null || !socket || !words) return errno;

  const bool watched = is_sanitizer_in_process();
  std::vector<char*> arguments{const_cast<char*>(plan.program.c_str())};
  for (const std::string& argument : plan.arguments) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::vector<char*> environment;
  for (char** variable = environ; *variable; ++variable)
    if (plan.bare ? is_for_workers(*variable) : !is_secret(*variable, watched))
      environment.push_back(*variable);
  environment.push_back(nullptr);
  Child child{plan.program.c_str(), arguments.data(), environment.data(), socket.get(),
              words.get(),          null.get(),       plan.memory_bytes};

  // A signal handler of ours would run in the child on our memory.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int pidfd = -1;
  const pid_t pid = start_child(child, pidfd);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return -pid;
  if (pidfd < 0) pidfd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0u));
  ChildProcess process(pid, UniqueFd(pidfd));
  if (child.error != 0) {
    // The child has left already, or is about to.
    ChildProcess::End end;
    while (!process.reap(end)) ::sched_yield();
    return child.error;
  }
  started = std::move(process);
  return 0;
}

}  // namespace tarsia::jit
