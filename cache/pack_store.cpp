// Keeps the bytes of packs, and makes memory files of their modules.
#include "cache/pack_store.h"

#include <algorithm>
#include <utility>

namespace tarsia::cache {

Packed PackStore::add(const OpenPack& pack) {
  Packed added{.bytes = pack.bytes->size(),
               .revoked = pack.revoked,
               .signer = pack.signer && pack.signer->is_trusted ? digits_of(pack.signer->id) : ""};
  const std::lock_guard lock(m_mutex);
  for (const PackEntry& entry : pack.entries) {
    const InPack in_pack{pack.bytes, entry.payload, entry.meta};
    if (entry.kind == Kind::module) {
      ++added.modules;
      added.known += !m_modules.try_emplace(entry.key, in_pack).second;
    } else if (entry.kind == Kind::inputs) {
      m_inputs.try_emplace(entry.key, in_pack);
    }
  }
  for (const auto& [kind, key, manifest] : pack.manifests) {
    std::shared_ptr<const Manifest>& known = (kind == Kind::shared ? m_shared : m_manifests)[key];
    Manifest merged = known ? *known : Manifest();
    for (auto set = manifest.sets().rbegin(); set != manifest.sets().rend(); ++set) merged.add(*set);
    known = std::make_shared<const Manifest>(std::move(merged));
  }
  m_any.store(true, std::memory_order_release);
  return added;
}

std::optional<CachedModule> PackStore::open(const Key& key) {
  std::optional<StoredModule> opened = m_open.find_module(key);
  if (!opened) {
    InPack found;
    {
      const std::lock_guard lock(m_mutex);
      const auto known = m_modules.find(key);
      if (known == m_modules.end()) return std::nullopt;
      found = known->second;
    }
    opened = stored_in_memory(key, found.payload, std::string(found.meta));
    m_open.keep_module(*opened);
  }
  std::shared_ptr<const UniqueFd> file = opened->memory;
  return CachedModule{key, std::move(opened->path), std::move(file), std::move(opened->meta), Origin::memory};
}

std::optional<CachedModule> PackStore::find(const Key& request_key, std::string& changed) {
  if (is_empty()) return std::nullopt;
  std::shared_ptr<const Manifest> known;
  {
    const std::lock_guard lock(m_mutex);
    const auto found = m_manifests.find(request_key);
    if (found != m_manifests.end()) known = found->second;
  }
  if (!known) return open(request_key);
  Manifest manifest = *known;
  bool renewed = false;
  const std::optional<Key> key = manifest.match(renewed, &changed);
  if (renewed) {
    auto newer = std::make_shared<const Manifest>(std::move(manifest));
    const std::lock_guard lock(m_mutex);
    std::shared_ptr<const Manifest>& now = m_manifests[request_key];
    if (now == known) now = std::move(newer);  // else a pack was added meanwhile
  }
  return key ? open(*key) : std::nullopt;
}

std::optional<CachedModule> PackStore::find_elsewhere(
    const Request& request, const std::function<bool(const Dependency&)>& is_forgotten,
    std::string& changed) {
  if (is_empty() || !request.shared) return std::nullopt;
  std::shared_ptr<const Manifest> known;
  {
    const std::lock_guard lock(m_mutex);
    const auto found = m_shared.find(*request.shared);
    if (found == m_shared.end()) return std::nullopt;
    known = found->second;
  }
  Manifest here = *known;
  here.move_to(request.place);
  here.forget(is_forgotten);
  bool renewed = false;
  const std::optional<Key> key = here.match(renewed, changed.empty() ? &changed : nullptr);
  if (!key) return std::nullopt;
  std::optional<CachedModule> found = open(*key);
  if (!found) return std::nullopt;
  const std::lock_guard lock(m_mutex);
  std::shared_ptr<const Manifest>& kept = m_manifests[request.key];
  Manifest merged = kept ? *kept : Manifest();
  for (const DependencySet& set : here.sets())
    if (set.module_key == *key) merged.add(set);
  kept = std::make_shared<const Manifest>(std::move(merged));
  return found;
}

std::optional<std::vector<Dependency>> PackStore::dependencies_of(const Key& request_key,
                                                                  const Key& module_key) {
  const std::lock_guard lock(m_mutex);
  if (request_key == module_key && m_modules.contains(module_key)) return std::vector<Dependency>();
  const auto found = m_manifests.find(request_key);
  if (found == m_manifests.end()) return std::nullopt;
  return found->second->dependencies_of(module_key);
}

std::string PackStore::inputs_of(const Key& request_key) {
  const std::lock_guard lock(m_mutex);
  const auto found = m_inputs.find(request_key);
  return found == m_inputs.end() ? std::string() : std::string(found->second.payload);
}

std::vector<std::pair<Key, std::string>> PackStore::inputs() {
  const std::lock_guard lock(m_mutex);
  std::vector<std::pair<Key, std::string>> all;
  for (const auto& [key, inputs] : m_inputs) all.emplace_back(key, inputs.payload);
  return all;
}

}  // namespace tarsia::cache
