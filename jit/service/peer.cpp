// Asks /proc and a pidfd.
#include "jit/service/peer.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace tarsia::jit {
namespace {

// Names that older C libraries lack.
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

/// The third field of /proc/PID/stat; a blank if there is none.
char state_of(pid_t pid) {
  std::string text;
  if (read_file("/proc/" + std::to_string(pid) + "/stat", text, 4096) != 0) return ' ';
  // The second field is the program's name in brackets, which may hold blanks and brackets.
  const std::size_t at = text.rfind(") ");
  return at == std::string::npos || at + 2 >= text.size() ? ' ' : text[at + 2];
}

}  // namespace

// A peer outside the service's PID namespace has the number 0, and nothing is known of it.
Peer::Peer(pid_t pid)
    : m_pid(pid), m_pidfd(pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)) : -1) {}

bool Peer::stopped_for(std::chrono::milliseconds least) {
  const char state = m_pid > 0 ? state_of(m_pid) : ' ';
  const auto now = std::chrono::steady_clock::now();
  if (state != 'T' && state != 't') {
    m_stopped.reset();
    return false;
  }
  if (!m_stopped) m_stopped = now;
  return now - *m_stopped >= least;
}

}  // namespace tarsia::jit
