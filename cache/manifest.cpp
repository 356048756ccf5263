// Turns manifests into bytes and back, and matches them with files.
#include "cache/manifest.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

#include "base/little_endian.h"

namespace tarsia::cache {
namespace {

constexpr unsigned char k_absent = 1;

}  // namespace

std::optional<Manifest> Manifest::parse(std::string_view bytes) {
  LittleReader in(bytes);
  Manifest manifest;
  const auto set_count = in.number<std::uint32_t>();
  if (set_count > k_max_sets) return std::nullopt;
  for (std::uint32_t s = 0; s < set_count && in.good(); ++s) {
    DependencySet set{.module_key = in.raw<sizeof(Digest)>()};
    const auto count = in.number<std::uint32_t>();
    for (std::uint32_t d = 0; d < count && in.good(); ++d) {
      Dependency dependency;
      const auto flags = in.number<std::uint8_t>();
      if (flags > k_absent) return std::nullopt;
      dependency.absent = flags == k_absent;
      dependency.stamp = {.device = in.number<std::uint64_t>(),
                          .inode = in.number<std::uint64_t>(),
                          .size = in.number<std::uint64_t>(),
                          .mtime_ns = static_cast<std::int64_t>(in.number<std::uint64_t>()),
                          .ctime_ns = static_cast<std::int64_t>(in.number<std::uint64_t>())};
      dependency.content = in.raw<sizeof(Digest)>();
      dependency.path = in.text();
      set.dependencies.push_back(std::move(dependency));
    }
    manifest.m_sets.push_back(std::move(set));
  }
  if (!in.good() || !in.at_end()) return std::nullopt;
  return manifest;
}

std::string Manifest::serialise() const {
  std::string bytes;
  LittleWriter out(bytes);
  out.number(static_cast<std::uint32_t>(m_sets.size()));
  for (const DependencySet& set : m_sets) {
    out.raw(set.module_key);
    out.number(static_cast<std::uint32_t>(set.dependencies.size()));
    for (const Dependency& dependency : set.dependencies) {
      out.number(static_cast<std::uint8_t>(dependency.absent ? k_absent : 0));
      const FileStamp& stamp = dependency.stamp;
      out.number(stamp.device);
      out.number(stamp.inode);
      out.number(stamp.size);
      out.number(static_cast<std::uint64_t>(stamp.mtime_ns));
      out.number(static_cast<std::uint64_t>(stamp.ctime_ns));
      out.raw(dependency.content);
      out.text(dependency.path);
    }
  }
  return bytes;
}

std::optional<Key> Manifest::match(bool& renewed, std::string* changed) {
  struct Seen {
    Digest content;
    bool absent;
    bool same;
  };
  // Sets of files differ in a file or two, so a fact about a file that one set found out serves the others.
  std::unordered_map<std::string_view, Seen> seen;
  for (DependencySet& set : m_sets) {
    bool all = true;
    for (Dependency& dependency : set.dependencies) {
      const auto known = m_sets.size() > 1 ? seen.find(dependency.path) : seen.end();
      if (known != seen.end() && known->second.absent == dependency.absent &&
          known->second.content == dependency.content) {
        all = known->second.same;
      } else {
        FileStamp stamp;
        const DependencyState state = check(dependency, stamp);
        if (state == DependencyState::vouched && stamp != dependency.stamp) {
          dependency.stamp = stamp;
          renewed = true;
        }
        all = state != DependencyState::changed;
        if (m_sets.size() > 1) seen[dependency.path] = {dependency.content, dependency.absent, all};
      }
      if (!all) {
        if (changed && &set == &m_sets.front()) *changed = dependency.path;
        break;
      }
    }
    if (all) return set.module_key;
  }
  return std::nullopt;
}

void Manifest::add(DependencySet set) {
  std::erase_if(m_sets, [&](const DependencySet& old) { return old.module_key == set.module_key; });
  m_sets.insert(m_sets.begin(), std::move(set));
  if (m_sets.size() > k_max_sets) m_sets.resize(k_max_sets);
}

std::optional<std::vector<Dependency>> Manifest::dependencies_of(const Key& module_key) const {
  const auto found = std::ranges::find(m_sets, module_key, &DependencySet::module_key);
  if (found == m_sets.end()) return std::nullopt;
  return found->dependencies;
}

void Manifest::forget(const std::function<bool(const Dependency&)>& is_forgotten) {
  for (DependencySet& set : m_sets) std::erase_if(set.dependencies, is_forgotten);
}

void Manifest::move_to(const Place& place) {
  std::erase_if(m_sets, [&](DependencySet& set) {
    for (Dependency& dependency : set.dependencies) {
      std::optional<std::string> path = place.path_of(dependency.path);
      if (!path) return true;
      dependency.path = std::move(*path);
      dependency.stamp = {};
    }
    return false;
  });
}

DependencySet named_set(const Place& place, const std::vector<Dependency>& dependencies) {
  DependencySet set;
  for (const Dependency& dependency : dependencies)
    set.dependencies.push_back({place.name_of(dependency.path),
                                dependency.absent ? Digest{} : dependency.content, dependency.absent});
  std::ranges::sort(set.dependencies, {}, &Dependency::path);
  return set;
}

Key module_key(const Key& request_key, const std::vector<Dependency>& dependencies) {
  Hasher hasher("module");
  hasher.field(request_key);
  for (const Dependency& dependency : dependencies) {
    hasher.field(dependency.path).field(std::uint64_t{dependency.absent});
    if (!dependency.absent) hasher.field(dependency.content);
  }
  return hasher.finish();
}

}  // namespace tarsia::cache
