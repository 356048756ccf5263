// Bytes that a forked child makes.
#include "jit/worker/prelude/child_writer.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <exception>

#include "jit/worker/isolation/files_beyond.h"

namespace tarsia::jit {
namespace {

bool write_all(int file, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(file, bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) at += std::size_t(count);
  }
  return true;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

void ChildWriter::cancel() {
  if (m_child <= 0) return;
  ::kill(m_child, SIGKILL);
  wait_for(m_child);
  m_child = -1;
}

void ChildWriter::start(const std::function<std::string()>& make) {
  m_file = UniqueFd(::memfd_create("tarsia", MFD_CLOEXEC));
  if (!m_file) return;
  const pid_t parent = ::getpid();
  m_child = ::fork();
  if (m_child != 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  FilesBeyond::forbid();
  bool made = false;
  try {
    made = write_all(m_file.get(), make());
  } catch (const std::exception&) {
  }
  ::_exit(made ? 0 : 1);
}

std::optional<std::string> ChildWriter::finish() {
  if (m_child <= 0) return std::nullopt;
  const int status = wait_for(m_child);
  m_child = -1;
  const UniqueFd file = std::move(m_file);
  struct stat st{};
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || ::fstat(file.get(), &st) != 0 || st.st_size == 0)
    return std::nullopt;
  std::string bytes(std::size_t(st.st_size), '\0');
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::pread(file.get(), bytes.data() + at, bytes.size() - at, off_t(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    at += std::size_t(count);
  }
  return bytes;
}

}  // namespace tarsia::jit
