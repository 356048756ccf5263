// Puts a file in memory where descriptor 1 was.
#include "session/output_capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.h"

namespace tarsia::session {

namespace {
constexpr std::uint64_t k_most = std::uint64_t{16} << 20;
}

OutputCapture::OutputCapture() {
  std::fflush(stdout);
  m_before = UniqueFd(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  m_file = UniqueFd(::memfd_create("tarsia-output", MFD_CLOEXEC));
  if (!m_before || !m_file || ::dup2(m_file.get(), STDOUT_FILENO) < 0)
    throw Error(errno_message("standard output cannot be kept", errno));
}

OutputCapture::~OutputCapture() {
  restore();
}

void OutputCapture::restore() noexcept {
  if (!m_before) return;
  std::fflush(stdout);
  ::dup2(m_before.get(), STDOUT_FILENO);
  m_before.reset();
}

std::string OutputCapture::finish() {
  restore();
  std::string text;
  ::lseek(m_file.get(), 0, SEEK_SET);
  if (const int error = read_all(m_file.get(), text, k_most); error && error != EFBIG)
    throw Error(errno_message("standard output cannot be read back", error));
  return text;
}

}  // namespace tarsia::session
