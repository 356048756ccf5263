// The parts of compiles, kept in the cache's store; in memory where that cannot be written.
#pragma once

#include <list>
#include <mutex>

#include "base/fork.h"
#include "cache/disk_store.h"
#include "jit/client/worker_pool.h"

namespace tarsia::pipeline {

/// Thread-safe.
class DiskPartStore final : public jit::PartFileStore, public ForkAware {
 public:
  explicit DiskPartStore(cache::DiskStore& store) : m_store(store) { watch_forks(); }
  ~DiskPartStore() override { forget_forks(); }

  std::optional<jit::PartFile> find(jit::PartKind kind, const Digest& key) override;
  void keep(jit::PartKind kind, const Digest& key, std::string_view bytes) override;

 private:
  struct InMemory {
    jit::PartKind kind;
    Digest key;
    UniqueFd fd;
    std::uint64_t size;
  };
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override { m_mutex.unlock(); }

  cache::DiskStore& m_store;
  std::mutex m_mutex;
  std::list<InMemory> m_memory;  ///< the newest in front
  std::uint64_t m_memory_bytes = 0;
};

}  // namespace tarsia::pipeline
