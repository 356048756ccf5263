// The cache of modules: memory, then disk; by the request's key, then by the contents of the files it read.
//
// A request's key covers all that is in the request. The other inputs of the compiler (headers on disk) are
// listed in a manifest under that key, with the key of the module that these contents gave. A request that
// read no files has no manifest; its module lies under its own key.
//
// That manifest has the paths and stamps of this place. A second one has the same sets without them, by names
// (cache/place.h) and contents, under a key that the place does not decide. It is read when the first one has
// no match, and what it gives is added to the first.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/origin.h"
#include "cache/disk_store.h"
#include "cache/keys.h"
#include "cache/manifest.h"
#include "cache/memory_store.h"
#include "cache/place.h"
#include "cache/tally.h"

namespace tarsia::cache {

/// A module ready to be opened.
struct CachedModule {
  Key key;           ///< of its content's inputs
  std::string path;  ///< what dlopen takes
  /// Keeps the path good. For a file on disk, it may go once the module is open. A module in a memory file
  /// needs it as long as it is open: dlopen may otherwise take another file of that number for it.
  std::shared_ptr<const UniqueFd> file;
  std::string meta;
  Origin origin = Origin::memory;  ///< memory or disk
};

/// Why there was no module.
struct Missing {
  Count reason = Count::miss_absent;  ///< one of the misses
  std::string text;                   ///< for people
};

/// A request, as the cache knows it.
struct Request {
  Request(const Key& k) : key(k) {}

  Key key;  ///< with the paths of the folders that it names
  std::optional<Key>
      shared;  ///< without them: the same at all places. Nothing: its modules are of use here alone
  Place place;
};

/// What a module's list for all places says of it.
struct SetForAllPlaces {
  Key key;            ///< of the list
  DependencySet set;  ///< its files by their names
};

/// That of a module that find() or keep() gave, by its files at this place; nothing if the module is for this
/// place alone.
std::optional<SetForAllPlaces> set_for_all_places(const Request& request, const Key& module_key,
                                                  const std::vector<Dependency>& dependencies,
                                                  std::string_view bytes, std::string_view meta);

/// A module that the cache lacks.
struct NewModule {
  Key key;
  std::string bytes;
  std::string meta;
  DependencySet here;  ///< the files that led to it, by their paths and stamps at this place
  std::optional<DependencySet> everywhere;  ///< the same by their names; nothing: it is for this place alone
};

/// One that was compiled here. It is for all places unless its bytes, `meta` or the way to a file tell of
/// this one. Compares the dependencies with the file system first. Nothing if one of them changed while the
/// compiler ran, or cannot be vouched for: then only the caller has the module. Otherwise it takes `bytes`.
std::optional<NewModule> new_module(const Request& request, std::string& bytes, std::string meta,
                                    std::vector<Dependency> dependencies);

/// Thread-safe. If the disk fails, memory alone serves.
class ModuleCache {
 public:
  explicit ModuleCache(DiskStore& disk) : m_disk(disk) {}

  /// Without a module, `why` says what was missing or had changed.
  std::optional<CachedModule> find(const Key& request_key, Missing* why = nullptr);
  /// A module that another place's request led to, after a miss. From then on find() finds it. `seen` is what
  /// an earlier call read: what is the same is not gone through again. If files differ, `why` says which.
  std::optional<CachedModule> find_elsewhere(const Request& request, FileStamp* seen = nullptr,
                                             Missing* why = nullptr);
  /// Keeps a new module, and gives it.
  CachedModule keep(const Request& request, const NewModule& module);
  /// Keeps it in memory alone, and gives it. keep_on_disk() then does the rest: files take longer to make
  /// than a small module does, or than what is asked of a store nearby.
  CachedModule take(const Request& request, const NewModule& module);
  void keep_on_disk(const Request& request, const NewModule& module);
  /// Removes a module. The next look-up of its requests misses.
  void forget(const Key& module_key);
  /// From now on, modules that one of these keys signed are removed when they are met.
  void refuse_signed_by(const std::set<KeyId>& revoked);
  /// The files that led from a request to a module that find() or keep() gave; nothing if that is not known
  /// any more.
  std::optional<std::vector<Dependency>> dependencies_of(const Key& request_key, const Key& module_key);
  /// A module that must not be kept.
  static CachedModule pass_through(const Key& request_key, std::string_view bytes, std::string meta);

 private:
  std::optional<CachedModule> find_module(const Key& key, Missing& why);
  void add_set(const Key& request_key, DependencySet set, bool on_disk);
  void list_for_all_places(const Key& shared_key, DependencySet named);
  /// Returns false if the disk does not take it.
  bool write(const Request& request, const NewModule& module);
  std::optional<CachedModule> opened(const NewModule& module);
  CachedModule in_memory(const NewModule& module);
  bool is_refused(std::string_view meta);

  DiskStore& m_disk;
  MemoryStore m_memory;
  std::atomic<bool> m_refuses{false};
  std::mutex m_refused_mutex;
  std::set<KeyId> m_refused;  ///< belongs to m_refused_mutex
};

}  // namespace tarsia::cache
