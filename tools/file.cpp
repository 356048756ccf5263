// Reads files piece by piece, since the size of a pipe is unknown.
#include "tools/file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace tarsia::tools {

int read_file(const std::string& path, std::string& bytes, std::size_t most) {
  bytes.clear();
  const bool is_input = path == "-";
  const int fd = is_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  int error = 0;
  for (char chunk[1 << 16]; bytes.size() < most;) {
    const ssize_t n = ::read(fd, chunk, std::min(sizeof chunk, most - bytes.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) error = errno;
    if (n <= 0) break;
    bytes.append(chunk, static_cast<std::size_t>(n));
  }
  if (!is_input) ::close(fd);
  return error;
}

}  // namespace tarsia::tools
