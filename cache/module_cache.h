// The cache of modules: memory, then disk; by the request's key, then by the contents of the files it read.
//
// A request's key covers all that is in the request. What the compiler read besides (headers on disk) is
// listed in a manifest under that key, with the key of the module that these contents gave. A request that
// read nothing has no manifest; its module lies under its own key.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/origin.h"
#include "cache/disk_store.h"
#include "cache/manifest.h"
#include "cache/memory_store.h"

namespace tarsia::cache {

/// A module ready to be opened.
struct CachedModule {
  Key key;           ///< of its content's inputs
  std::string path;  ///< what dlopen takes
  /// Keeps the path good. For a file on disk it may go once the module is open; a module in a memory file
  /// needs it for as long as it is open, or dlopen may take another file of that number for it.
  std::shared_ptr<const UniqueFd> file;
  std::string meta;
  Origin origin = Origin::memory;  ///< memory or disk
};

/// Thread-safe. Failures of the disk degrade to memory alone.
class ModuleCache {
 public:
  explicit ModuleCache(DiskStore& disk) : m_disk(disk) {}

  std::optional<CachedModule> find(const Key& request_key);
  /// Keeps a new module. The dependencies are compared with the file system first; `kept_whole` false: one of
  /// them changed while the compiler ran, or cannot be vouched for, and nothing was kept but for this caller.
  CachedModule keep(const Key& request_key, std::string_view bytes, std::string meta,
                    std::vector<Dependency> dependencies, bool* kept_whole = nullptr);
  /// A module that must not be kept.
  static CachedModule pass_through(const Key& request_key, std::string_view bytes, std::string meta);

 private:
  std::optional<CachedModule> find_module(const Key& key);

  DiskStore& m_disk;
  MemoryStore m_memory;
};

}  // namespace tarsia::cache
