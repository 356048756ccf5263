// File descriptors and whole files. Every descriptor made here is close-on-exec.
#pragma once

#include <dirent.h>
#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tarsia {

/// Owns a file descriptor.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : m_fd(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : m_fd(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  explicit operator bool() const { return m_fd >= 0; }
  int get() const { return m_fd; }
  int release() { return std::exchange(m_fd, -1); }
  void reset(int fd = -1);

 private:
  int m_fd = -1;
};

/// A file's status. If it is unchanged, the file was not touched, and a content hash taken earlier holds.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;

  static FileStamp of(const struct stat& status);
  bool operator==(const FileStamp&) const = default;
};

// The functions below that return an int give 0 or an errno; they retry on EINTR.

/// Whether a symbolic link in the last step of a path is followed: what users name may be one, what Tarsia
/// wrote itself is none.
enum class Links { refuse, follow };
/// Opens a regular file for reading and never waits on a FIFO; ELOOP or EINVAL if it is no regular file.
/// `status` is that of the opened file.
int open_regular(const std::string& path, UniqueFd& fd, struct stat& status, Links links = Links::refuse);
/// Reads from the descriptor's position to its end; EFBIG once there is more than `limit`.
int read_all(int fd, std::string& bytes, std::uint64_t limit);
/// `size` bytes at `offset` of a regular file; ENODATA if it ends before. The position stays.
int read_at(int fd, char* bytes, std::size_t size, std::uint64_t offset);
/// The bytes of a file of any kind, such as one of /proc. Follows symbolic links; EFBIG beyond `limit`.
int read_file(const std::string& path, std::string& bytes, std::uint64_t limit);
int write_all(int fd, std::string_view bytes);
enum class IfThere { replace, keep };
/// Writes the pieces one after the other to a new private file beside `path`, and renames it to `path`. A
/// reader sees the old file or the whole new one. Leaves nothing behind on failure. IfThere::keep gives
/// EEXIST if the name is taken. (File systems that cannot tell replace the file.)
int publish(const std::string& path, std::span<const std::string_view> pieces, mode_t mode = 0600,
            IfThere if_there = IfThere::replace);

/// opendir; null if the folder cannot be opened. Throws ResourceLimit if no descriptor is free: a search
/// that took this for an absent folder would give a wrong answer.
DIR* open_folder(const std::string& path);

/// The file's bytes. Follows symbolic links; throws Error naming the path, also beyond `limit` bytes.
std::string read_file(const std::string& path, std::uint64_t limit = std::uint64_t{1} << 32);
/// Writes a file that users name: it is there whole or not at all. A symbolic link stays, and what it leads
/// to is written. Throws Error naming the path, also for what is no regular file, such as a device.
void write_file(const std::string& path, std::string_view bytes, mode_t mode = 0644);
/// Makes the directory and its missing parents. Returns 0 or an errno. An existing directory is no error.
int make_directories(const std::string& path, mode_t mode = 0700);

/// An anonymous file in memory that holds the bytes, sealed against any change. Throws Error, or
/// ResourceLimit if the process may not write that many (RLIMIT_FSIZE, with SIGXFSZ ignored).
UniqueFd make_memfd(const char* name, std::string_view bytes);
/// Seals a memfd against any change. Waits, for seconds, while the kernel holds pages of it or somebody has
/// it mapped for writing. Returns 0 or an errno.
int seal(int memfd);
/// `size` bytes at `offset` of a regular file or memfd. Throws Error naming it as `what`, also when size
/// exceeds `limit`.
std::string read_descriptor(int fd, std::uint64_t offset, std::uint64_t size, std::uint64_t limit,
                            std::string_view what = "a received file");
/// All of it.
std::string read_descriptor(int fd, std::uint64_t limit, std::string_view what = "a received file");

/// A read-only mapping of a whole descriptor.
class Mapping {
 public:
  Mapping() = default;
  /// Throws Error. The descriptor may be closed afterwards.
  explicit Mapping(int fd);
  Mapping(Mapping&& other) noexcept : m_bytes(std::exchange(other.m_bytes, {})) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(m_bytes, other.m_bytes);
    return *this;
  }
  ~Mapping();
  std::string_view bytes() const { return m_bytes; }

 private:
  std::string_view m_bytes;
};

}  // namespace tarsia
