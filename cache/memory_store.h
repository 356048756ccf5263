// Modules that this process has used. Modules on disk are remembered by name and stamp, others are kept in
// memory files.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/fork.h"
#include "cache/key.h"
#include "cache/manifest.h"

namespace tarsia::cache {

/// A module that can be opened by its path.
struct StoredModule {
  Key key;
  std::string path;                        ///< in the disk store, or /proc/self/fd/N of `memory`
  FileStamp stamp;                         ///< of the file on disk when it was verified
  std::shared_ptr<const UniqueFd> memory;  ///< set: the module lies in this memory file
  std::uint64_t memory_bytes = 0;
  std::string meta;
};

/// A module whose bytes are in a memory file of its own. Throws as make_memfd does.
StoredModule stored_in_memory(const Key& key, std::string_view bytes, std::string meta);

/// Thread-safe. Holds the most recently used entries, up to limits of number and of memory. Those in memory
/// files hold a descriptor each, and no more than an eighth of those that the process may have.
class MemoryStore final : public ForkAware {
 public:
  explicit MemoryStore(std::size_t max_modules = 1024,
                       std::uint64_t max_memory_bytes = std::uint64_t{256} << 20);
  ~MemoryStore();

  std::optional<StoredModule> find_module(const Key& key);
  void keep_module(StoredModule module);
  void drop_module(const Key& key);

  std::shared_ptr<const Manifest> find_manifest(const Key& request_key);
  void keep_manifest(const Key& request_key, Manifest manifest);

 private:
  using List = std::list<StoredModule>;  // the most recently used is in front
  struct State {
    std::mutex mutex;
    List modules;
    std::map<Key, List::iterator> index;
    std::uint64_t memory_bytes = 0;
    std::size_t memory_files = 0;
    std::map<Key, std::shared_ptr<const Manifest>> manifests;
  };
  static void erase(State& state, List::iterator module);
  void before_fork() override { m_state.mutex.lock(); }
  void after_fork_in_parent() override { m_state.mutex.unlock(); }
  // The content stays good: memory files are sealed, and shared with the parent.
  void after_fork_in_child() override { m_state.mutex.unlock(); }

  const std::size_t m_max_modules;
  const std::uint64_t m_max_memory_bytes;
  State m_state;
};

}  // namespace tarsia::cache
