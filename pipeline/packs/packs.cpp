// Takes packs in, and looks requests up in them.
#include "pipeline/packs/packs.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "cache/remote/pack_keys.h"
#include "jit/build_id.h"

namespace tarsia::pipeline {
namespace {

constexpr const char* k_remedy =
    "; copy it again, or make it again with this Tarsia (tarsia.record, tarsia pack)";

/// What the pack says that it was made with. What `tarsia cache export` wrote says nothing.
std::vector<MadeWith> read_made_with(const cache::OpenPack& pack) {
  std::vector<MadeWith> all;
  for (const cache::PackEntry& entry : pack.entries) {
    if (entry.kind != cache::Kind::fact) continue;
    std::optional<MadeWith> made = MadeWith::parse(entry.payload);
    if (!made || made->build != jit::build_id())
      throw LoadError("it was made by another build of Tarsia, whose modules this one does not use");
    all.push_back(std::move(*made));
  }
  return all;
}

}  // namespace

cache::Packed Packs::replay(const std::string& path) {
  cache::OpenPack pack;
  std::vector<MadeWith> made_with;
  try {
    pack = cache::open_pack(path, cache::read_pack_keys());
    made_with = read_made_with(pack);
  } catch (const cache::UntrustedPack& wrong) {
    throw LoadError(path + " is not replayed: " + wrong.what());
  } catch (const LoadError& wrong) {
    throw LoadError(path + " is not replayed: " + wrong.what() + k_remedy);
  }
  forget_missing_headers(made_with, pack);
  {
    const std::lock_guard lock(m_mutex);
    for (MadeWith& made : made_with)
      if (made.has_cuda() && std::ranges::find(m_made_with, made) == m_made_with.end())
        m_made_with.push_back(std::move(made));
  }
  const cache::Packed added = m_store.add(pack);
  log().info("{}: replayed, modules {}, of these known {}", path, added.modules, added.known);
  return added;
}

std::optional<cache::CachedModule> Packs::find(jit::CompileRequest& request, cache::Key& key,
                                               const KeysOf& keys_of, std::string& changed) {
  if (auto found = m_store.find(key, changed)) return found;
  if (auto found = m_store.find_elsewhere(keys_of(request), [](const Dependency&) { return false; }, changed))
    return found;
  std::vector<MadeWith> made_with;
  {
    const std::lock_guard lock(m_mutex);
    made_with = m_made_with;
  }
  // Of a text without CUDA, a key says nothing about it.
  if (!request.cuda && request.cuda_parts.nvrtc_identity.empty() && request.cuda_parts.major == 0) return {};
  for (const MadeWith& made : made_with) {
    jit::CompileRequest other = request;
    made.lend_to(other);
    const cache::Request asked = keys_of(other);
    if (asked.key == key) continue;
    auto found = m_store.find(asked.key, changed);
    MissingHeaders is_missing(made.folders);
    if (!found) found = m_store.find_elsewhere(asked, std::ref(is_missing), changed);
    if (found) {
      request = std::move(other);
      key = asked.key;
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace tarsia::pipeline
