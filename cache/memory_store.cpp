// A least-recently-used list with an index.
#include "cache/memory_store.h"

#include <sys/resource.h>

#include <algorithm>
#include <iterator>

namespace tarsia::cache {
namespace {

std::size_t most_memory_files() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
  return std::max<std::size_t>(1, std::min<rlim_t>(limit.rlim_cur, 8192) / 8);
}

}  // namespace

StoredModule stored_in_memory(const Key& key, std::string_view bytes, std::string meta) {
  StoredModule module{.key = key, .meta = std::move(meta)};
  module.memory = std::make_shared<const UniqueFd>(make_memfd("tarsia-module", bytes));
  module.path = "/proc/self/fd/" + std::to_string(module.memory->get());
  module.memory_bytes = bytes.size();
  return module;
}

MemoryStore::MemoryStore(std::size_t max_modules, std::uint64_t max_memory_bytes)
    : m_max_modules(max_modules), m_max_memory_bytes(max_memory_bytes) {
  watch_forks();
}

MemoryStore::~MemoryStore() {
  forget_forks();
}

void MemoryStore::erase(State& state, List::iterator module) {
  state.memory_bytes -= module->memory_bytes;
  state.memory_files -= module->memory ? 1 : 0;
  state.index.erase(module->key);
  state.modules.erase(module);
}

std::optional<StoredModule> MemoryStore::find_module(const Key& key) {
  const std::lock_guard lock(m_state.mutex);
  const auto found = m_state.index.find(key);
  if (found == m_state.index.end()) return std::nullopt;
  m_state.modules.splice(m_state.modules.begin(), m_state.modules, found->second);
  return *found->second;
}

void MemoryStore::keep_module(StoredModule module) {
  const std::lock_guard lock(m_state.mutex);
  const auto old = m_state.index.find(module.key);
  if (old != m_state.index.end()) erase(m_state, old->second);
  m_state.memory_bytes += module.memory_bytes;
  m_state.memory_files += module.memory ? 1 : 0;
  m_state.modules.push_front(std::move(module));
  m_state.index[m_state.modules.front().key] = m_state.modules.begin();
  // The newest stays even if it is larger than the whole limit.
  while (m_state.modules.size() > 1 &&
         (m_state.modules.size() > m_max_modules || m_state.memory_bytes > m_max_memory_bytes)) {
    erase(m_state, std::prev(m_state.modules.end()));
  }
  // Those on disk hold no descriptor, and stay.
  const std::size_t most = m_state.memory_files > 1 ? most_memory_files() : 1;
  for (auto oldest = std::prev(m_state.modules.end()); m_state.memory_files > most;) {
    const auto next = std::prev(oldest == m_state.modules.begin() ? m_state.modules.end() : oldest);
    if (oldest->memory) erase(m_state, oldest);
    oldest = next;
  }
}

void MemoryStore::drop_module(const Key& key) {
  const std::lock_guard lock(m_state.mutex);
  const auto found = m_state.index.find(key);
  if (found != m_state.index.end()) erase(m_state, found->second);
}

std::shared_ptr<const Manifest> MemoryStore::find_manifest(const Key& request_key) {
  const std::lock_guard lock(m_state.mutex);
  const auto found = m_state.manifests.find(request_key);
  return found == m_state.manifests.end() ? nullptr : found->second;
}

void MemoryStore::keep_manifest(const Key& request_key, Manifest manifest) {
  auto kept = std::make_shared<const Manifest>(std::move(manifest));
  const std::lock_guard lock(m_state.mutex);
  // They are small, but a process that compiles for weeks makes many.
  if (m_state.manifests.size() >= m_max_modules) m_state.manifests.clear();
  m_state.manifests[request_key] = std::move(kept);
}

}  // namespace tarsia::cache
