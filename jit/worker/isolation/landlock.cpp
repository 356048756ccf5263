// Landlock by its system calls: the headers of the oldest supported systems do not have it.
#include "jit/worker/isolation/landlock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "jit/landlock_version.h"

namespace tarsia::jit {
namespace {

// From linux/landlock.h.
constexpr long k_add_rule = 445, k_restrict_self = 446;
constexpr int k_path_beneath = 1;
struct RulesetAttributes {
  std::uint64_t file_rights;
  std::uint64_t net_rights;  // version 4
  std::uint64_t scopes;      // version 6
};
struct __attribute__((packed)) PathBeneath {
  std::uint64_t rights;
  std::int32_t folder;
};
constexpr std::uint64_t k_write_file = 1 << 1, k_read_file = 1 << 2, k_read_dir = 1 << 3;
constexpr std::uint64_t k_remove_dir = 1 << 4, k_remove_file = 1 << 5, k_make_file = 1 << 8,
                        k_truncate = 1 << 14;
constexpr std::uint64_t k_bind_and_connect = 3, k_abstract_sockets_and_signals = 3;

/// The rights on files that a version knows: each came with new ones.
std::uint64_t known_rights(long version) {
  const int n_known = version >= 5 ? 16 : version >= 3 ? 15 : version == 2 ? 14 : 13;
  return (std::uint64_t{1} << n_known) - 1;
}

class Ruleset {
 public:
  explicit Ruleset(long version) : m_rights(known_rights(version)) {
    RulesetAttributes attributes{m_rights, version >= 4 ? k_bind_and_connect : 0,
                                 version >= 6 ? k_abstract_sockets_and_signals : 0};
    const std::size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
    m_fd = UniqueFd(static_cast<int>(::syscall(k_landlock_create_ruleset, &attributes, size, 0u)));
  }
  explicit operator bool() const { return bool(m_fd); }
  int get() const { return m_fd.get(); }

  void allow(const std::string& path, std::uint64_t of_folder, std::uint64_t of_file) const {
    const UniqueFd place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status{};
    if (!place || ::fstat(place.get(), &status) != 0) return;
    const PathBeneath rule{(S_ISDIR(status.st_mode) ? of_folder : of_file) & m_rights, place.get()};
    if (rule.rights != 0) ::syscall(k_add_rule, m_fd.get(), k_path_beneath, &rule, 0u);
  }

 private:
  std::uint64_t m_rights;
  UniqueFd m_fd;
};

}  // namespace

std::string restrict_files(const OpenPaths& paths) {
  const long version = landlock_version();
  if (version < 1) return errno_message("Landlock, which keeps it from files, is not to be had here", errno);
  const Ruleset rules(version);
  if (!rules) return errno_message("Landlock cannot be set up", errno);
  for (const std::string& path : paths.read) rules.allow(path, k_read_file | k_read_dir, k_read_file);
  for (const std::string& path : paths.list) rules.allow(path, k_read_dir, 0);
  for (const std::string& path : paths.write) rules.allow(path, 0, k_read_file | k_write_file | k_truncate);
  if (!paths.scratch.empty()) {
    rules.allow(paths.scratch,
                k_read_file | k_read_dir | k_write_file | k_truncate | k_make_file | k_remove_file, 0);
    // Of its neighbours it could remove those that are empty, and their owners do without.
    rules.allow(std::filesystem::path(paths.scratch).parent_path(), k_remove_dir, 0);
  }
  if (::syscall(k_restrict_self, rules.get(), 0u) != 0) return errno_message("Landlock is refused", errno);
  const std::string lacks = lacks_of_landlock(version);
  return lacks.empty() ? lacks : "Landlock, version " + std::to_string(version) + ", " + lacks;
}

}  // namespace tarsia::jit
