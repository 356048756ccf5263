// The sysroot pack's reader. Binary search over the mapped index; nothing is copied, allocated or hashed.
#include "jit/worker/source/sysroot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace tarsia::jit {

static_assert(std::endian::native == std::endian::little, "the pack's numbers are read in place");

namespace {

constexpr char k_magic[8] = {'T', 'A', 'R', 'S', 'I', 'A', 'S', 'R'};
constexpr uint32_t k_version = 1;

struct SysrootHeader {
  char magic[8];
  uint32_t version;
  uint32_t count;
  uint64_t bytes;
  unsigned char identity[32];
};
static_assert(sizeof(SysrootHeader) == 56);

[[noreturn]] void refuse(const std::string& path, const char* what) {
  throw LoadError(path + " is no sysroot pack that can be used: " + what + "; install Tarsia again");
}

}  // namespace

struct SysrootPack::Entry {
  uint32_t path;  ///< from the start of the paths
  uint32_t path_size;
  uint64_t content;  ///< from the start of the file
  uint64_t content_size;
};

SysrootPack::SysrootPack(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    throw NotFound(errno_message("cannot open the sysroot pack " + path, errno) + "; install Tarsia again");
  }
  struct stat status = {};
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) m_bytes = static_cast<size_t>(status.st_size);
  void* data = MAP_FAILED;
  if (m_bytes >= sizeof(SysrootHeader)) data = mmap(nullptr, m_bytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (m_bytes < sizeof(SysrootHeader)) refuse(path, "it is too short");
  if (data == MAP_FAILED) throw LoadError(errno_message("cannot map the sysroot pack " + path, errno));
  m_data = static_cast<const char*>(data);
  try {
    check(path);
  } catch (...) {
    munmap(data, m_bytes);
    throw;
  }
  SysrootHeader header;
  std::memcpy(&header, m_data, sizeof header);
  m_size = header.count;
  std::memcpy(m_identity.data(), header.identity, sizeof header.identity);
}

SysrootPack::~SysrootPack() {
  munmap(const_cast<char*>(m_data), m_bytes);
}

/// After this check, every view that `file` makes lies in the mapping, and the paths are in order.
void SysrootPack::check(const std::string& path) const {
  SysrootHeader header;
  std::memcpy(&header, m_data, sizeof header);
  if (std::memcmp(header.magic, k_magic, sizeof k_magic) != 0) refuse(path, "it does not begin as one");
  if (header.version != k_version) refuse(path, "its version is another");
  if (header.bytes != m_bytes) refuse(path, "its size is not the one it names");
  if (header.count > (m_bytes - sizeof header) / sizeof(Entry)) refuse(path, "its index is cut off");
  const size_t paths_at = sizeof header + header.count * sizeof(Entry);
  const size_t paths_room = m_bytes - paths_at;
  std::string_view previous;
  for (uint32_t i = 0; i < header.count; i++) {
    const Entry& entry = entries()[i];
    if (entry.path >= paths_room || entry.path_size > paths_room - entry.path || entry.content >= m_bytes ||
        entry.content_size >= m_bytes - entry.content) {
      refuse(path, "an entry points outside of it");
    }
    const std::string_view name(m_data + paths_at + entry.path, entry.path_size);
    if (i > 0 && previous >= name) refuse(path, "its index is not in order");
    previous = name;
  }
}

const SysrootPack::Entry* SysrootPack::entries() const {
  return reinterpret_cast<const Entry*>(m_data + sizeof(SysrootHeader));
}

const char* SysrootPack::paths() const {
  return m_data + sizeof(SysrootHeader) + m_size * sizeof(Entry);
}

SysrootPack::File SysrootPack::file(size_t index) const {
  const Entry& entry = entries()[index];
  return {{paths() + entry.path, entry.path_size}, {m_data + entry.content, entry.content_size}};
}

size_t SysrootPack::lower_bound(std::string_view path) const {
  size_t low = 0;
  size_t high = m_size;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (file(middle).path < path) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::optional<std::string_view> SysrootPack::find(std::string_view path) const {
  const size_t at = lower_bound(path);
  if (at == m_size) return std::nullopt;
  const File found = file(at);
  if (found.path != path) return std::nullopt;
  return found.content;
}

bool SysrootPack::is_directory(std::string_view path) const {
  const std::string prefix = std::string(path) + '/';
  const size_t at = lower_bound(prefix);
  return at < m_size && file(at).path.starts_with(prefix);
}

}  // namespace tarsia::jit
