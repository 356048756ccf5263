// The packs that this process replays.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/fork.h"
#include "cache/pack_store.h"
#include "jit/compile.h"
#include "pipeline/packs/made_with.h"

namespace tarsia::pipeline {

/// Thread-safe, and kept across fork.
class Packs final : public ForkAware {
 public:
  Packs() { watch_forks(); }
  ~Packs() { forget_forks(); }

  /// Verifies a pack whole and takes it into memory. Throws Error that names the file if it cannot be read,
  /// LoadError if it is no whole pack of this build of Tarsia; nothing of it is then used.
  cache::Packed replay(const std::string& path);

  bool is_empty() const { return m_store.is_empty(); }
  /// Gives the keys and the place of a request.
  using KeysOf = std::function<cache::Request(const jit::CompileRequest&)>;

  /// The module of a request. It is looked for under `key`, which is the request's, under its key for all
  /// places, and under both keys that it has with the parts of CUDA that packs were made with; `request` and
  /// `key` become those of the module that was found. `changed` becomes a file by which a module's files
  /// differ.
  std::optional<cache::CachedModule> find(jit::CompileRequest& request, cache::Key& key,
                                          const KeysOf& keys_of, std::string& changed);
  cache::PackStore& store() { return m_store; }

 private:
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override { m_mutex.unlock(); }

  cache::PackStore m_store;
  std::mutex m_mutex;                 ///< of m_made_with
  std::vector<MadeWith> m_made_with;  ///< those with CUDA, each once
};

}  // namespace tarsia::pipeline
