// Puts a file in memory where descriptor 1 was.
#include "session/output_capture.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/error.h"

namespace tarsia::session {

namespace {
constexpr std::uint64_t k_most_output = std::uint64_t{16} << 20;
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
  // Not by the descriptor's position: processes that the cell has forked share it.
  struct stat status{};
  if (::fstat(m_file.get(), &status) != 0)
    throw Error(errno_message("standard output cannot be read back", errno));
  std::string text(std::min(std::uint64_t(status.st_size), k_most_output), '\0');
  std::size_t n = 0;
  while (n < text.size()) {
    const ssize_t read = ::pread(m_file.get(), text.data() + n, text.size() - n, off_t(n));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) throw Error(errno_message("standard output cannot be read back", errno));
    if (read == 0) break;
    n += std::size_t(read);
  }
  text.resize(n);
  return text;
}

}  // namespace tarsia::session
