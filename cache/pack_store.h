// Modules of packs that this process replays: in memory, verified, in front of the other tiers.
//
// Problem: a server takes its modules from a pack, in an image whose cache folder is empty, read-only or not
// there, and nothing may take them away again. Choice: the bytes of the packs stay in memory as long as the
// process, and a module becomes a memory file when it is asked for. Rejected: importing into the folder. A
// replay would then outlive the process that asked for it, and a sweep could undo it. Rejected: a memory file
// for each module at once. A pack may have more modules than a process has descriptors.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "cache/memory_store.h"
#include "cache/module_cache.h"
#include "cache/pack.h"

namespace tarsia::cache {

/// Thread-safe, and kept across fork.
class PackStore final : public ForkAware {
 public:
  PackStore() { watch_forks(); }
  ~PackStore() { forget_forks(); }

  /// Adds all modules of a pack, and the sets of files that lead to them. A module that is there stays; sets
  /// of the newer pack go first.
  Packed add(const OpenPack& pack);
  /// Whether nothing was added. Costs nothing.
  bool is_empty() const { return !m_any.load(std::memory_order_acquire); }

  /// The module under a request's key. `changed` becomes the file by which the newest set failed, if one did.
  std::optional<CachedModule> find(const Key& request_key, std::string& changed);
  /// The same by the request's list for all places: its files may lie elsewhere than those of the machine
  /// that recorded. Files count for nothing that `is_forgotten` tells, by their paths here. From then on
  /// find() knows it.
  std::optional<CachedModule> find_elsewhere(const Request& request,
                                             const std::function<bool(const Dependency&)>& is_forgotten,
                                             std::string& changed);
  /// The set of files that led from a request to a module; nothing if it is not there.
  std::optional<std::vector<Dependency>> dependencies_of(const Key& request_key, const Key& module_key);
  /// The inputs of a request; "" if they are not there.
  std::string inputs_of(const Key& request_key);
  /// The keys of all requests whose inputs are there, and these.
  std::vector<std::pair<Key, std::string>> inputs();

 private:
  struct InPack {
    std::shared_ptr<const std::string> bytes;  ///< keeps the others
    std::string_view payload;
    std::string_view meta;
  };
  std::optional<CachedModule> open(const Key& key);
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override { m_mutex.unlock(); }

  std::atomic<bool> m_any{false};
  std::mutex m_mutex;  ///< of the maps
  std::map<Key, InPack> m_modules;
  std::map<Key, InPack> m_inputs;
  std::map<Key, std::shared_ptr<const Manifest>> m_manifests;
  std::map<Key, std::shared_ptr<const Manifest>>
      m_shared;            ///< lists for all places, by the key for all places
  MemoryStore m_open{32};  ///< modules as memory files
};

}  // namespace tarsia::cache
