// Binds, and knows its peers by SO_PEERCRED.
#include "jit/service/listener.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/log.h"
#include "jit/unix_address.h"

namespace tarsia::jit {
namespace {

constexpr int k_backlog = 128;

UniqueFd make_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) raise_errno("cannot make a socket", errno);
  return socket;
}

/// The folder of the path, locked for as long as this is open. Without that, two services that find a socket
/// left behind could each remove the other's. A folder that cannot be opened cannot be bound in, either.
UniqueFd lock_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : path.substr(0, slash + 1);
  UniqueFd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (opened && ::flock(opened.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return opened;
}

}  // namespace

Listener::Listener(std::string path) : m_path(std::move(path)), m_socket(make_socket()) {
  if (m_path.empty() || m_path.size() > UnixAddress::k_longest)
    throw Error("the socket's path " + m_path + " must have 1 to " + std::to_string(UnixAddress::k_longest) +
                " bytes");
  const UnixAddress address(m_path);

  const UniqueFd lock = lock_folder_of(m_path);
  struct stat status{};
  if (::lstat(m_path.c_str(), &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) throw Error(m_path + " is there already, and is no socket");
    if (::connect(make_socket().get(), address.get(), UnixAddress::size()) == 0 || errno == EAGAIN)
      throw Error("a service listens at " + m_path + " already");
    ::unlink(m_path.c_str());
  }
  // The path gets the mode that the socket has.
  if (::fchmod(m_socket.get(), 0600) != 0 ||
      ::bind(m_socket.get(), address.get(), UnixAddress::size()) != 0 ||
      ::listen(m_socket.get(), k_backlog) != 0 || ::lstat(m_path.c_str(), &status) != 0) {
    const int error = errno;
    throw Error(errno_message("cannot listen at " + m_path, error) +
                ": give the path of a socket in a folder of yours, such as $XDG_RUNTIME_DIR/tarsia.sock");
  }
  m_device = status.st_dev;
  m_inode = status.st_ino;
}

Listener::~Listener() {
  const UniqueFd lock = lock_folder_of(m_path);
  struct stat status{};
  if (::lstat(m_path.c_str(), &status) == 0 && status.st_dev == m_device && status.st_ino == m_inode)
    ::unlink(m_path.c_str());
}

UniqueFd Listener::accept(pid_t& peer) const {
  UniqueFd connection(::accept4(m_socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!connection) return {};
  ucred who{};
  socklen_t size = sizeof who;
  if (::getsockopt(connection.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0 || who.uid != ::geteuid()) {
    log().warn("a process of user {} was sent away", who.uid);
    errno = EPERM;
    return {};
  }
  peer = who.pid;
  return connection;
}

}  // namespace tarsia::jit
