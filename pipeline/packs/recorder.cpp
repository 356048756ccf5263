// Keeps recordings, and makes packs of them.
#include "pipeline/packs/recorder.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/hash.h"
#include "cache/manifest.h"
#include "cache/remote/pack_keys.h"

namespace tarsia::pipeline {

namespace {

/// The path from wherever the program goes meanwhile.
std::string checked_path(const std::string& given) {
  std::error_code none;
  const std::filesystem::path path = std::filesystem::absolute(given, none).lexically_normal();
  if (given.empty() || !path.has_filename())
    throw Error("a pack cannot be written to '" + given + "': give it the name of a file");
  if (std::filesystem::is_directory(path, none))
    throw Error("a pack cannot be written to " + given + ": it is a folder");
  if (::access(path.parent_path().c_str(), W_OK | X_OK) != 0)
    throw Error(errno_message("a pack cannot be written to " + path.string(), errno) +
                ": make its folder, or choose another one");
  return path.string();
}

cache::Packed write_recorded(const Recorded& recorded);

}  // namespace

Recorder::Id Recorder::begin(const std::string& path) {
  std::string whole = checked_path(path);
  static_cast<void>(
      cache::read_pack_keys());  // at the end of a run it would be too late to say what is wrong
  const std::lock_guard lock(m_mutex);
  const Id id = m_next++;
  m_recordings[id].recorded.path = std::move(whole);
  m_n_on.store(m_recordings.size(), std::memory_order_release);
  return id;
}

Recorded Recorder::so_far(Id id) {
  const std::lock_guard lock(m_mutex);
  if (m_parents.contains(id)) return {};
  const auto found = m_recordings.find(id);
  if (found == m_recordings.end()) throw Error("this recording has ended: begin another one");
  Recorded recorded = found->second.recorded;
  for (const auto& [number, name] : found->second.under_way)
    recorded.left_out.push_back({name, "its compile had not ended: wait for it before the recording ends"});
  return recorded;
}

Recorder::Written Recorder::write(Id id) {
  Recorded recorded = so_far(id);
  Written written{.is_there = !recorded.path.empty(), .left_out = std::move(recorded.left_out)};
  if (written.is_there) written.packed = write_recorded(recorded);
  end(id);
  return written;
}

void Recorder::end(Id id) {
  Recording last;  // is freed without the mutex
  const std::lock_guard lock(m_mutex);
  m_parents.erase(id);
  const auto found = m_recordings.find(id);
  if (found == m_recordings.end()) return;
  last = std::move(found->second);
  m_recordings.erase(found);
  m_n_on.store(m_recordings.size(), std::memory_order_release);
}

bool Recorder::wants(const cache::Key& request_key, const cache::Key& module_key) {
  if (!is_on()) return false;
  const std::lock_guard lock(m_mutex);
  return std::ranges::any_of(m_recordings, [&](const auto& recording) {
    return !recording.second.known.contains({request_key, module_key});
  });
}

void Recorder::note(UsedModule used) {
  const auto kept = std::make_shared<const UsedModule>(std::move(used));
  const std::lock_guard lock(m_mutex);
  for (auto& [id, recording] : m_recordings)
    if (recording.known.emplace(kept->request_key, kept->module_key).second)
      recording.recorded.used.push_back(kept);
}

void Recorder::leave_out(const std::string& name, const std::string& why) {
  if (!is_on()) return;
  const std::lock_guard lock(m_mutex);
  for (auto& [id, recording] : m_recordings) {
    auto& all = recording.recorded.left_out;
    if (std::ranges::none_of(all, [&](const LeftOut& one) { return one.name == name && one.why == why; }))
      all.push_back({name, why});
  }
}

Recorder::Request::Request(Recorder& recorder, const jit::CompileRequest& request) : m_recorder(recorder) {
  if (!recorder.is_on()) return;
  const std::string& name = request.name.empty() ? request.files.front().name : request.name;
  const std::lock_guard lock(recorder.m_mutex);
  m_number = recorder.m_next++;
  for (auto& [id, recording] : recorder.m_recordings) recording.under_way[m_number] = name;
}

Recorder::Request::~Request() {
  if (m_number == 0) return;
  const std::lock_guard lock(m_recorder.m_mutex);
  for (auto& [id, recording] : m_recorder.m_recordings) recording.under_way.erase(m_number);
}

void Recorder::after_fork_in_child() {
  for (const auto& [id, recording] : m_recordings) m_parents.insert(id);
  m_recordings.clear();
  m_n_on.store(0, std::memory_order_release);
  m_mutex.unlock();
}

namespace {

cache::Packed write_recorded(const Recorded& recorded) {
  using cache::Key;
  using cache::Kind;
  std::map<std::pair<Kind, Key>, cache::Manifest> manifests;
  std::map<std::pair<Kind, Key>, cache::PackEntry> entries;  // the same run gives the same pack
  std::map<Key, std::string> facts;
  cache::Packed packed;
  const auto add = [&](Kind kind, const Key& key, std::string_view payload, std::string_view meta) {
    return entries.try_emplace({kind, key}, cache::PackEntry{kind, key, payload, meta}).second;
  };
  // In one order, whatever the threads' was; of a source whose files changed, the newest set goes first.
  std::vector<std::shared_ptr<const UsedModule>> used = recorded.used;
  std::ranges::stable_sort(used, {}, [](const auto& one) { return one->request_key; });
  for (const auto& one : used) {
    packed.modules += add(Kind::module, one->module_key, one->payload, one->meta);
    add(Kind::inputs, one->request_key, one->inputs, {});
    facts.try_emplace(hash_bytes(one->made_with), one->made_with);
    if (one->everywhere) manifests[{Kind::shared, one->everywhere->key}].add(one->everywhere->set);
    if (one->request_key == one->module_key) continue;
    cache::DependencySet set{one->module_key, one->dependencies};
    for (Dependency& dependency : set.dependencies) dependency.stamp = {};
    manifests[{Kind::manifest, one->request_key}].add(std::move(set));
  }
  std::map<std::pair<Kind, Key>, std::string> texts;
  for (const auto& [name, manifest] : manifests)
    add(name.first, name.second, texts.emplace(name, manifest.serialise()).first->second, {});
  for (const auto& [key, fact] : facts) add(Kind::fact, key, fact, {});
  std::vector<cache::PackEntry> all;
  for (const auto& [name, entry] : entries) all.push_back(entry);
  const cache::PackKeys keys = cache::read_pack_keys();
  packed.bytes = cache::write_pack_file(all, recorded.path, keys.signer ? &*keys.signer : nullptr);
  if (keys.signer) packed.signer = cache::digits_of(cache::id_of(keys.signer->public_key()));
  return packed;
}

}  // namespace

}  // namespace tarsia::pipeline
