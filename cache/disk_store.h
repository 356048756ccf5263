// Entries on disk, shared by all processes of a user.
//
//   FOLDER/1/KIND/ab/cdef…       an entry (cache/entry.h): two and 62 digits of its key; modules end in .so
//   FOLDER/1/source/HASH/…       copies of the texts of modules with debug information, by their names
//   FOLDER/1/aside/…             corrupt entries and what was no file, kept so that people can find out why
//   FOLDER/1/locks/abc           locks of compiles under way (cache/single_flight.h), and of the total
//   FOLDER/1/locks/remote-HASH   a shared store that is left alone for a while (cache/remote/breaker.h)
//   FOLDER/1/size                the running total of bytes (cache/sweep.h)
//   FOLDER/1/counts              hits, misses and the like of all processes (cache/tally.h)
//
// Invariants: a name never shows an incomplete file (publish renames). A reader that has an entry open
// holds a shared lock on it, and only entries without a lock are evicted, so a hit stays loadable until its
// reader closes it. An input or output error says nothing about the content, so it never removes anything.
// Nothing is used that another user could have written, at whatever depth. If that holds of FOLDER, or of a
// folder right below it or FOLDER/1, the whole store is out of use. If it holds of a deeper folder, that
// folder's entries are. A file is set aside.
#pragma once

#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "cache/entry.h"

namespace tarsia::cache {

enum class Lookup {
  hit,
  miss,   ///< not there, or not whole and now set aside
  fault,  ///< could not be looked up; as good as a miss, but not worth storing after
};

/// A store's counts, for tests and `tarsia doctor`.
struct Counters {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t faults = 0;
  std::uint64_t corrupt = 0;  ///< among the misses
  std::uint64_t stores = 0;
  std::uint64_t store_failures = 0;
  std::uint64_t evictions = 0;
};

/// A verified entry. While `fd` is open the file is not evicted.
struct Hit {
  UniqueFd fd;
  std::string path;
  FileStamp stamp;
  Entry entry;
  bool damaged = false;  ///< after a miss: something was there that is no whole entry
};

/// Thread-safe.
class DiskStore {
 public:
  /// The folder may be refused (see refusal) or prove read-only. Neither is an error.
  DiskStore(std::string folder, std::uint64_t max_bytes);

  /// The reason why the folder is not used, with the remedy; or empty.
  const std::string& refusal() const { return m_refusal; }
  bool usable() const { return m_refusal.empty(); }
  /// Whether files in it may be mapped as code (it may be mounted noexec).
  bool executable() const { return m_executable; }
  bool remote() const { return m_remote; }
  const std::string& folder() const { return m_folder; }

  /// FOLDER/1, below which everything lies that this version of the layout keeps.
  const std::string& root() const { return m_root; }

  Lookup find(Kind kind, const Key& key, bool keep_payload, Hit& hit);
  /// The same for whoever only looks: leaves damage where it is, and neither counts nor notes the use.
  Lookup peek(Kind kind, const Key& key, bool keep_payload, Hit& hit);
  /// Opens an entry that this process verified before. Only compares its stamp.
  bool reopen(const std::string& path, const FileStamp& stamp, UniqueFd& fd);
  /// Publishes an entry. Returns false if that failed; the failure is counted and logged.
  bool keep(Kind kind, const Key& key, std::string_view payload, std::string_view meta);

  /// Keeps readable copies of texts, for debuggers. Names are relative paths without "..". Returns their
  /// folder, which the texts and names decide; empty if they cannot be kept.
  std::string keep_copies(std::span<const std::pair<std::string_view, std::string_view>> files);

  /// Removes an entry, whether somebody has it open or not. Returns whether it was there.
  bool remove(Kind kind, const Key& key);

  std::string path_of(Kind kind, const Key& key) const;
  /// The lock file of this key, shared with one key in 4096, in a folder of this machine.
  std::string lock_path(const Key& key) const;
  /// The lock of the running total, which also keeps sweeps from overlapping.
  std::string size_lock() const { return lock_path("size"); }
  /// Where the counts of all processes are kept, and their lock (cache/tally.h). Of a folder on a network, in
  /// a folder of this machine. Empty: nowhere.
  std::string counts_path() const;
  /// The file of a note about this store for the processes of this machine, such as that a store elsewhere
  /// does not answer (cache/remote/breaker.h). Empty: nowhere.
  std::string note_path(const std::string& kind, const std::string& what) const;
  /// Writes a note, whole. Makes its folder, should that be gone.
  static void write_note(const std::string& path, std::string_view bytes);
  std::string counts_lock() const { return lock_path("counts"); }
  std::uint64_t max_bytes() const { return m_max_bytes; }
  Counters counters() const;

 private:
  std::string lock_path(const std::string& name) const;
  void refuse_untrusted(const std::string& folder);
  bool is_trusted_folder(const std::string& path);
  void set_aside(const std::string& path);
  void note_fault(const char* what, const std::string& path, int error);

  std::string m_folder;
  std::string m_root;  ///< FOLDER/1
  std::string m_locks;
  std::uint64_t m_max_bytes;
  std::string m_refusal;
  bool m_executable = false;
  bool m_remote = false;
  std::atomic<std::uint64_t> m_hits{0}, m_misses{0}, m_faults{0}, m_corrupt{0}, m_stores{0},
      m_store_failures{0}, m_evictions{0};
  std::atomic<bool> m_warned{false};
};

/// TARSIA_CACHE_SIZE_MB, else 4 GiB; 0 means no limit. Throws ArgumentError if it is no size.
std::uint64_t cache_size_limit();

}  // namespace tarsia::cache
