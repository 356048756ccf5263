// pidfds, and their replacement on kernels without them.
#include "jit/client/child.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <string>
#include <utility>

namespace tarsia::jit {
namespace {

// Names that older C libraries lack.
constexpr int k_wait_for_pidfd = 3;  // P_PIDFD
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

/// The 22nd field of /proc/PID/stat; 0 if there is no such process, or no /proc.
std::uint64_t start_time(pid_t pid) {
  std::string text;
  if (read_file("/proc/" + std::to_string(pid) + "/stat", text, 4096) != 0) return 0;
  // The second field is the program's name in brackets, which may hold blanks and brackets.
  std::size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = text.find(' ', at + 1);
  std::uint64_t ticks = 0;
  if (at != std::string::npos) std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  return ticks;
}

}  // namespace

ChildProcess::ChildProcess(pid_t pid, UniqueFd pidfd)
    : m_pid(pid), m_pidfd(std::move(pidfd)), m_start_time(start_time(pid)) {}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : m_pid(std::exchange(other.m_pid, -1)),
      m_pidfd(std::move(other.m_pidfd)),
      m_start_time(other.m_start_time) {}

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  m_pid = std::exchange(other.m_pid, -1);
  m_pidfd = std::move(other.m_pidfd);
  m_start_time = other.m_start_time;
  return *this;
}

void ChildProcess::kill() const {
  if (m_pid <= 0) return;
  if (m_pidfd &&
      (::syscall(SYS_pidfd_send_signal, m_pidfd.get(), SIGKILL, nullptr, 0u) == 0 || errno == ESRCH)) {
    return;
  }
  if (start_time(m_pid) == m_start_time) ::kill(m_pid, SIGKILL);
}

bool ChildProcess::reap(End& end) {
  if (m_pid <= 0) return true;
  siginfo_t info{};
  struct rusage usage{};
  long waited = -1;
  errno = EINVAL;
  // The C library's waitid has no place for the usage.
  if (m_pidfd)
    waited = ::syscall(SYS_waitid, k_wait_for_pidfd, m_pidfd.get(), &info, WEXITED | WNOHANG, &usage);
  // Kernels that have pidfds but cannot wait for them yet.
  if (waited < 0 && (errno == EINVAL || errno == ENOSYS))
    waited = ::syscall(SYS_waitid, P_PID, m_pid, &info, WEXITED | WNOHANG, &usage);
  if (waited < 0 && errno == EINTR) return false;
  if (waited == 0 && info.si_pid == 0) return false;
  if (waited == 0) {
    end.how = info.si_code == CLD_EXITED ? End::How::exited : End::How::signalled;
    end.number = info.si_status;
    end.peak_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  }
  abandon();
  return true;
}

void ChildProcess::abandon() {
  m_pid = -1;
  m_pidfd.reset();
}

}  // namespace tarsia::jit
