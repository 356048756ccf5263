// Files by system calls, so that errors keep their errno.
#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/error.h"

namespace tarsia {
namespace {

template <typename Call>
auto retry(Call call) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

void UniqueFd::reset(int fd) {
  // Linux frees the descriptor even when close reports EINTR: never close twice.
  if (m_fd >= 0) ::close(m_fd);
  m_fd = fd;
}

FileStamp FileStamp::of(const struct stat& status) {
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = static_cast<std::uint64_t>(status.st_size),
          .mtime_ns = nanoseconds(status.st_mtim),
          .ctime_ns = nanoseconds(status.st_ctim)};
}

int open_regular(const std::string& path, UniqueFd& fd, struct stat& status, Links links) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (links == Links::refuse ? O_NOFOLLOW : 0);
  UniqueFd opened(retry([&] { return ::open(path.c_str(), flags); }));
  if (!opened) return errno;
  if (::fstat(opened.get(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EINVAL;
  fd = std::move(opened);
  return 0;
}

int read_all(int fd, std::string& bytes, std::uint64_t limit) {
  bytes.clear();
  struct stat status;
  // One byte more than the size: the read that sees the end then needs no further allocation.
  std::uint64_t room = 4096;
  if (::fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
    if (static_cast<std::uint64_t>(status.st_size) > limit) return EFBIG;
    room = static_cast<std::uint64_t>(status.st_size) + 1;
  }
  std::uint64_t have = 0;
  for (;;) {
    if (have == bytes.size()) bytes.resize(have == 0 ? room : 2 * have);
    const ssize_t n = retry([&] { return ::read(fd, bytes.data() + have, bytes.size() - have); });
    if (n < 0) return errno;
    if (n == 0) break;
    have += static_cast<std::uint64_t>(n);
    if (have > limit) return EFBIG;
  }
  bytes.resize(have);
  return 0;
}

int read_at(int fd, char* bytes, std::size_t size, std::uint64_t offset) {
  while (size > 0) {
    const ssize_t n = retry([&] { return ::pread(fd, bytes, size, static_cast<off_t>(offset)); });
    if (n < 0) return errno;
    if (n == 0) return ENODATA;
    bytes += n;
    size -= static_cast<std::size_t>(n);
    offset += static_cast<std::uint64_t>(n);
  }
  return 0;
}

int read_file(const std::string& path, std::string& bytes, std::uint64_t limit) {
  const UniqueFd fd(retry([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY); }));
  return fd ? read_all(fd.get(), bytes, limit) : errno;
}

int write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = retry([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (n < 0) return errno;
    if (n == 0) return EIO;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return 0;
}

namespace {

int rename_to(const std::string& from, const std::string& to, IfThere if_there) {
  if (if_there == IfThere::keep) {
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
  }
  return ::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

int publish(const std::string& path, std::span<const std::string_view> pieces, mode_t mode,
            IfThere if_there) {
  static std::atomic<std::uint64_t> s_counter{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    // The pid alone does not make the name unique between machines or containers that share the folder.
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const std::string temporary = path + ".tmp." + std::to_string(::getpid()) + '.' +
                                  std::to_string(nanoseconds(now)) + '.' + std::to_string(s_counter++);
    UniqueFd fd(retry([&] {
      return ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    }));
    if (!fd) {
      if (errno == EEXIST) continue;
      return errno;
    }
    int error = 0;
    for (std::string_view piece : pieces) {
      if ((error = write_all(fd.get(), piece)) != 0) break;
    }
    // A network file system may report a failed write only here.
    const int raw = fd.release();
    if (::close(raw) != 0 && error == 0 && errno != EINTR) error = errno;
    if (error == 0) error = rename_to(temporary, path, if_there);
    if (error != 0) ::unlink(temporary.c_str());
    return error;
  }
  return EEXIST;
}

DIR* open_folder(const std::string& path) {
  DIR* stream = ::opendir(path.c_str());
  if (stream == nullptr && (errno == EMFILE || errno == ENFILE))
    raise_errno("cannot look into " + path, errno);
  return stream;
}

std::string read_file(const std::string& path, std::uint64_t limit) {
  std::string bytes;
  if (const int error = read_file(path, bytes, limit)) raise_errno("cannot read " + path, error);
  return bytes;
}

namespace {

/// What a chain of symbolic links leads to, which need not be there.
std::string behind_links(std::string path) {
  constexpr int k_most = 40;  // as the kernel follows
  for (int i = 0; i < k_most; ++i) {
    std::string target(PATH_MAX, '\0');
    const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
    if (n < 0) return path;
    target.resize(static_cast<std::size_t>(n));
    path = target.starts_with('/') ? target : path.substr(0, path.rfind('/') + 1) + target;
  }
  return path;
}

}  // namespace

void write_file(const std::string& path, std::string_view bytes, mode_t mode) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    throw Error("cannot write " + path + ": it is no regular file" +
                (S_ISDIR(status.st_mode) ? ", but a folder" : "") + "; choose another name");
  const std::string_view pieces[] = {bytes};
  if (const int error = publish(behind_links(path), pieces, mode)) raise_errno("cannot write " + path, error);
}

int make_directories(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0) return 0;
  const int error = errno;
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) return S_ISDIR(status.st_mode) ? 0 : ENOTDIR;
  const std::size_t slash = path.find_last_of('/');
  if (error != ENOENT || slash == std::string::npos || slash == 0) return error;
  if (const int parent_error = make_directories(path.substr(0, slash), mode)) return parent_error;
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return 0;
  return errno;
}

UniqueFd make_memfd(const char* name, std::string_view bytes) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) raise_errno("cannot make a file in memory", errno);
  const int error = write_all(fd.get(), bytes);
  if (error == EFBIG)
    throw ResourceLimit("a result of " + std::to_string(bytes.size() >> 20) +
                        " MiB is larger than the compiler may make: move data out of the source");
  if (error) raise_errno("cannot fill a file in memory", error);
  if (const int seal_error = seal(fd.get())) raise_errno("cannot seal a file in memory", seal_error);
  return fd;
}

int seal(int memfd) {
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  // The kernel itself waits 150 ms for pages in use, such as those that it is about to move.
  constexpr int attempts = 200;
  for (int i = 0; ::fcntl(memfd, F_ADD_SEALS, seals) != 0; ++i) {
    if (errno != EBUSY || i == attempts) return errno;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return 0;
}

std::string read_descriptor(int fd, std::uint64_t offset, std::uint64_t size, std::uint64_t limit,
                            std::string_view what) {
  const auto fail = [&](int error, std::string_view reason) {
    raise_errno("cannot read " + std::string(what) + std::string(reason), error);
  };
  struct stat status;
  if (::fstat(fd, &status) != 0) fail(errno, "");
  if (!S_ISREG(status.st_mode)) fail(EINVAL, ", which is no regular file");
  if (size > limit)
    fail(EFBIG, ", whose " + std::to_string(size) + " bytes are more than the " + std::to_string(limit) +
                    " that it may have");
  const auto end = static_cast<std::uint64_t>(status.st_size);
  if (offset > end || size > end - offset) fail(EIO, ", which is shorter than announced");
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const int error = read_at(fd, bytes.data(), bytes.size(), offset);
  if (error) fail(error == ENODATA ? EIO : error, error == ENODATA ? ", which is shorter than it was" : "");
  return bytes;
}

std::string read_descriptor(int fd, std::uint64_t limit, std::string_view what) {
  struct stat status;
  if (::fstat(fd, &status) != 0) raise_errno("cannot read " + std::string(what), errno);
  return read_descriptor(fd, 0, static_cast<std::uint64_t>(status.st_size), limit, what);
}

Mapping::Mapping(int fd) {
  struct stat status;
  if (::fstat(fd, &status) != 0) raise_errno("cannot map a file", errno);
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (address == MAP_FAILED) raise_errno("cannot map a file", errno);
  m_bytes = {static_cast<const char*>(address), size};
}

Mapping::~Mapping() {
  if (!m_bytes.empty()) ::munmap(const_cast<char*>(m_bytes.data()), m_bytes.size());
}

}  // namespace tarsia
