// A connection that breaks while it is written to must not end the program.
#pragma once

#include <csignal>
#include <ctime>

namespace tarsia::cache {

/// While it lives, this thread gets no SIGPIPE: one of its own making is taken away again.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigset_t pending;
    sigemptyset(&m_pipe);
    sigaddset(&m_pipe, SIGPIPE);
    ::sigpending(&pending);
    m_was_pending = sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &m_pipe, &m_before);
  }
  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;
  ~NoSigpipe() {
    if (!m_was_pending) {
      const timespec now{};
      while (::sigtimedwait(&m_pipe, nullptr, &now) == SIGPIPE) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
  }

 private:
  sigset_t m_pipe, m_before;
  bool m_was_pending;
};

}  // namespace tarsia::cache
