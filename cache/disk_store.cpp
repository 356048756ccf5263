// Finds, keeps and sets aside entries on disk.
#include "cache/disk_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/error.h"
#include "base/log.h"
#include "base/number_setting.h"
#include "base/paths.h"
#include "cache/sweep.h"

namespace tarsia::cache {
namespace {

// How exact "last used" must be. A finer step would write to the disk on every hit.
constexpr std::int64_t k_use_step = 600;  // s

/// File systems whose locks and renames go over a network.
bool is_remote(const std::string& path) {
  struct statfs status;
  if (::statfs(path.c_str(), &status) != 0) return false;
  switch (static_cast<unsigned>(status.f_type)) {
    case 0x6969u:      // NFS
    case 0x517Bu:      // SMB
    case 0xFF534D42u:  // CIFS
    case 0xFE534D42u:  // SMB2
    case 0x0BD00BD0u:  // Lustre
    case 0x00C36400u:  // Ceph
    case 0x01021997u:  // 9P
    case 0x65735546u:  // FUSE: sshfs, gcsfuse, JuiceFS, …
    case 0x47504653u:  // GPFS
    case 0x19830326u:  // BeeGFS
    case 0x5346414Fu:  // AFS
    case 0x73757245u:  // Coda
    case 0xAAD7AAEAu:  // Panasas
      return true;
  }
  return false;
}

/// A folder of this machine and user for locks, or empty.
std::string local_lock_dir() {
  const std::string name = "/tarsia-locks-" + std::to_string(::geteuid());
  for (const char* base : {"/dev/shm", "/tmp"}) {
    const std::string path = base + name;
    // Unlike prepare_private_dir, this does not follow links: these parents are open to everybody.
    struct stat status;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) continue;
    if (::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
        (status.st_mode & 022) == 0) {
      return path;
    }
  }
  return {};
}

/// Takes the shared lock that keeps an entry from being evicted, before anything of it is read. Returns
/// false if an eviction holds the lock: the entry's name is about to go, though it still shows. If locks do
/// not work, an eviction may win the race for the name.
bool hold(int fd) {
  return ::flock(fd, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

}  // namespace

DiskStore::DiskStore(std::string folder, std::uint64_t max_bytes)
    : m_folder(std::move(folder)), m_root(m_folder + "/1"), m_max_bytes(max_bytes) {
  m_refusal = prepare_private_dir(m_folder);
  if (!m_refusal.empty()) {
    log().warn("{}", m_refusal);
    return;
  }
  for (const std::string& path : {m_root, m_folder + "/compiler"}) refuse_untrusted(path);
  for (const char* name : {"module", "manifest", "prelude", "device", "host", "fact", "inputs", "shared",
                           "source", "locks", "aside"})
    refuse_untrusted(m_root + '/' + name);
  if (!m_refusal.empty()) {
    log().warn("{}", m_refusal);
    return;
  }
  struct statvfs mount;
  m_executable = ::statvfs(m_folder.c_str(), &mount) == 0 && (mount.f_flag & ST_NOEXEC) == 0;
  m_remote = is_remote(m_folder);
  m_locks = m_remote ? local_lock_dir() : m_root + "/locks";
}

std::string DiskStore::path_of(Kind kind, const Key& key) const {
  const std::string digits = hex(key);
  std::string path;
  path.reserve(m_root.size() + 90);
  path += m_root;
  path += '/';
  path += kind_name(kind);
  path += '/';
  path.append(digits, 0, 2);
  path += '/';
  path.append(digits, 2);
  if (kind == Kind::module) path += ".so";
  return path;
}

std::string DiskStore::lock_path(const Key& key) const {
  return lock_path(hex(key).substr(0, 3));
}

std::string DiskStore::lock_path(const std::string& name) const {
  if (m_locks.empty() || (!m_remote && make_directories(m_locks) != 0)) return {};
  return m_locks + '/' + name;
}

std::string DiskStore::counts_path() const {
  if (!usable()) return {};
  if (!m_remote) return m_root + "/counts";
  return m_locks.empty() ? m_locks : m_locks + "/counts-" + hex(hash_bytes(m_folder)).substr(0, 16);
}

std::string DiskStore::note_path(const std::string& kind, const std::string& what) const {
  if (!usable()) return {};
  return lock_path(kind + hex(hash_bytes(m_folder + '\0' + what)).substr(0, 16));
}

void DiskStore::write_note(const std::string& path, std::string_view bytes) {
  if (publish(path, {&bytes, 1}) == ENOENT && make_directories(path.substr(0, path.rfind('/'))) == 0)
    publish(path, {&bytes, 1});
}

bool DiskStore::remove(Kind kind, const Key& key) {
  return usable() && ::unlink(path_of(kind, key).c_str()) == 0;
}

void DiskStore::note_fault(const char* what, const std::string& path, int error) {
  const std::string text = errno_message(std::string(what) + ' ' + path, error);
  if (m_warned.exchange(true)) {
    log().debug("{}", text);
  } else {
    log().warn("{}; further faults of the cache are logged at level debug", text);
  }
}

void DiskStore::set_aside(const std::string& path) {
  ++m_corrupt;
  const std::string folder = m_root + "/aside";
  std::string name = path.substr(m_root.size() + 1);
  for (char& c : name) c = c == '/' ? '-' : c;
  const std::string aside = folder + '/' + name;
  int error = make_directories(folder);
  // A folder does not replace a file, and a file does not replace a folder.
  if (error == 0 && ::rename(path.c_str(), aside.c_str()) != 0 &&
      (::remove(aside.c_str()) != 0 || ::rename(path.c_str(), aside.c_str()) != 0)) {
    error = errno;
  }
  if (error != 0) {
    note_fault("cannot set aside the corrupt", path, error);
  } else {
    log().warn("{} was corrupt and is set aside", path);
  }
}

void DiskStore::refuse_untrusted(const std::string& folder) {
  struct stat status;
  if (!m_refusal.empty() || ::lstat(folder.c_str(), &status) != 0) return;
  const std::string why = S_ISDIR(status.st_mode) ? distrust(folder, status) : "it is no folder; remove it";
  if (why.empty()) return;
  m_refusal = "the cache folder " + m_folder + " is not used because of " + folder + ": " + why +
              ", or set TARSIA_CACHE_DIR to another one";
}

bool DiskStore::is_trusted_folder(const std::string& path) {
  struct stat status;
  // A missing folder is made by us.
  if (::lstat(path.c_str(), &status) != 0) return true;
  if (S_ISDIR(status.st_mode) && distrust(path, status).empty()) return true;
  note_fault("not used, as it is no folder of this user's alone:", path, EPERM);
  return false;
}

Lookup DiskStore::find(Kind kind, const Key& key, bool keep_payload, Hit& hit) {
  if (!usable()) {
    ++m_faults;
    return Lookup::fault;
  }
  hit.path = path_of(kind, key);
  hit.damaged = false;
  if (!is_trusted_folder(hit.path.substr(0, hit.path.find_last_of('/')))) {
    ++m_faults;
    return Lookup::fault;
  }
  struct stat status;
  const int error = open_regular(hit.path, hit.fd, status);
  if (error == ENOENT || error == ENOTDIR) {
    ++m_misses;
    return Lookup::miss;
  }
  // A link, FIFO or folder in the place of an entry is not ours.
  if (error == ELOOP || error == EINVAL) {
    set_aside(hit.path);
    hit.damaged = true;
    ++m_misses;
    return Lookup::miss;
  }
  if (error != 0) {
    note_fault("cannot open", hit.path, error);
    ++m_faults;
    return Lookup::fault;
  }
  if (!distrust(hit.path, status).empty()) {
    set_aside(hit.path);
    hit.damaged = true;
    ++m_misses;
    return Lookup::miss;
  }
  if (!hold(hit.fd.get())) {
    ++m_misses;
    return Lookup::miss;
  }
  const ReadStatus read = read_entry(hit.fd.get(), static_cast<std::uint64_t>(status.st_size), kind, key,
                                     keep_payload, hit.entry);
  if (read == ReadStatus::failed) {
    note_fault("cannot read", hit.path, errno);
    ++m_faults;
    return Lookup::fault;
  }
  if (read == ReadStatus::corrupt) {
    set_aside(hit.path);
    hit.damaged = true;
    ++m_misses;
    return Lookup::miss;
  }
  const std::int64_t age = ::time(nullptr) - status.st_mtim.tv_sec;
  if (age > k_use_step || age < -k_use_step) ::futimens(hit.fd.get(), nullptr);
  // It was evicted between the opening and the lock: the content is good, but the name is gone.
  if (::fstat(hit.fd.get(), &status) != 0 || status.st_nlink == 0) {
    ++m_misses;
    return Lookup::miss;
  }
  hit.stamp = FileStamp::of(status);
  ++m_hits;
  return Lookup::hit;
}

Lookup DiskStore::peek(Kind kind, const Key& key, bool keep_payload, Hit& hit) {
  hit.path = path_of(kind, key);
  hit.damaged = false;
  if (!usable() || !is_trusted_folder(hit.path.substr(0, hit.path.find_last_of('/')))) return Lookup::fault;
  struct stat status;
  const int error = open_regular(hit.path, hit.fd, status);
  if (error == ENOENT || error == ENOTDIR) return Lookup::miss;
  hit.damaged = error == ELOOP || error == EINVAL || (error == 0 && !distrust(hit.path, status).empty());
  if (hit.damaged) return Lookup::miss;
  if (error != 0) return Lookup::fault;
  switch (read_entry(hit.fd.get(), static_cast<std::uint64_t>(status.st_size), kind, key, keep_payload,
                     hit.entry)) {
    case ReadStatus::ok:
      hit.stamp = FileStamp::of(status);
      return Lookup::hit;
    case ReadStatus::failed:
      return Lookup::fault;
    case ReadStatus::corrupt:
      break;
  }
  hit.damaged = true;
  return Lookup::miss;
}

bool DiskStore::reopen(const std::string& path, const FileStamp& stamp, UniqueFd& fd) {
  struct stat status;
  if (!usable() || open_regular(path, fd, status) != 0) return false;
  return hold(fd.get()) && ::fstat(fd.get(), &status) == 0 && status.st_nlink > 0 &&
         FileStamp::of(status) == stamp;
}

std::string DiskStore::keep_copies(std::span<const std::pair<std::string_view, std::string_view>> files) {
  if (!usable()) return {};
  Hasher hasher("source copies");
  for (const auto& [name, text] : files) hasher.field(name).field(text);
  const std::string folder = m_root + "/source/" + hex(hasher.finish()).substr(0, 32);
  if (!is_trusted_folder(folder)) return {};
  for (const auto& [name, text] : files) {
    const std::string path = folder + '/' + std::string(name);
    int error = publish(path, {&text, 1}, 0600, IfThere::keep);
    if (error == ENOENT) {
      error = make_directories(path.substr(0, path.rfind('/')));
      if (error == 0) error = publish(path, {&text, 1}, 0600, IfThere::keep);
    }
    if (error != 0 && error != EEXIST) {
      note_fault("cannot store", path, error);
      return {};
    }
  }
  return folder;
}

bool DiskStore::keep(Kind kind, const Key& key, std::string_view payload, std::string_view meta) {
  if (!usable()) return false;
  const std::string path = path_of(kind, key);
  const std::string folder = path.substr(0, path.find_last_of('/'));
  if (!is_trusted_folder(folder)) {
    ++m_store_failures;
    return false;
  }
  const std::string footer = make_footer(kind, key, payload, meta);
  const std::string_view pieces[] = {payload, meta, footer};
  // Modules, device code and host objects of one key are equivalent, so the first stays. A name then changes
  // its file only when the file is set aside or evicted. A manifest grows, a fact ages, inputs name the
  // library that was compiled last, and a prelude holds for the contents of the files that it was made of.
  const bool replace = kind != Kind::module && kind != Kind::device && kind != Kind::host;
  const IfThere if_there = replace ? IfThere::replace : IfThere::keep;
  int error = publish(path, pieces, 0600, if_there);
  if (error == ENOENT) {
    error = make_directories(folder);
    if (error == 0) error = publish(path, pieces, 0600, if_there);
  }
  if (error == EEXIST) {
    Hit there;
    if (find(kind, key, false, there) == Lookup::hit) return true;
    error = publish(path, pieces, 0600, IfThere::replace);
  }
  if (error != 0) {
    ++m_store_failures;
    note_fault("cannot store", path, error);
    return false;
  }
  ++m_stores;
  // Files take whole blocks.
  const std::uint64_t bytes = (payload.size() + meta.size() + footer.size() + 4095) / 4096 * 4096;
  m_evictions += account(m_root, size_lock(), bytes, m_max_bytes).evicted;
  return true;
}

Counters DiskStore::counters() const {
  return {.hits = m_hits,
          .misses = m_misses,
          .faults = m_faults,
          .corrupt = m_corrupt,
          .stores = m_stores,
          .store_failures = m_store_failures,
          .evictions = m_evictions};
}

std::uint64_t cache_size_limit() {
  return size_setting("TARSIA_CACHE_SIZE_MB", 4096);
}

}  // namespace tarsia::cache
