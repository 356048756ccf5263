// Joins modules with the manifests and inputs that lead to them.
#include "pipeline/entries.h"

#include <algorithm>
#include <map>

#include "cache/manifest.h"

namespace tarsia::pipeline {
namespace {

using cache::Kind;

}  // namespace

std::vector<StoredEntry> list_entries(cache::DiskStore& store) {
  std::vector<StoredEntry> entries;
  std::map<cache::Key, std::size_t> places;  // of modules by their keys
  std::vector<cache::Key> requests;          // that have inputs or a manifest
  cache::for_each_file(store.root(), [&](const cache::StoreFile& file) {
    const auto name = file.is_file() ? cache::entry_name(file) : std::nullopt;
    if (!name) return;
    if (name->kind == Kind::module) {
      places[name->key] = entries.size();
      entries.push_back({.module_key = name->key,
                         .path = file.path,
                         .bytes = cache::bytes_of(file.status),
                         .used = file.status.st_mtim.tv_sec});
    } else if (name->kind == Kind::manifest || name->kind == Kind::inputs) {
      requests.push_back(name->key);
    }
  });
  std::ranges::sort(requests);
  const auto twice = std::ranges::unique(requests);
  requests.erase(twice.begin(), twice.end());
  for (const cache::Key& request : requests) {
    cache::Hit hit;
    std::optional<Inputs> inputs;
    if (store.peek(Kind::inputs, request, true, hit) == cache::Lookup::hit)
      inputs = Inputs::parse(hit.entry.payload);
    const auto give = [&](const cache::Key& module, const std::vector<Dependency>& files) {
      const auto place = places.find(module);
      if (place == places.end()) return;
      StoredEntry& entry = entries[place->second];
      entry.request = request;
      entry.inputs = inputs;
      entry.files = files;
    };
    give(request, {});
    if (store.peek(Kind::manifest, request, true, hit) != cache::Lookup::hit) continue;
    if (const auto manifest = cache::Manifest::parse(hit.entry.payload))
      for (const cache::DependencySet& set : manifest->sets()) give(set.module_key, set.dependencies);
  }
  std::ranges::stable_sort(entries, std::greater<>(), &StoredEntry::used);
  return entries;
}

cache::Verified verify_entries(const cache::DiskStore& store, bool remove) {
  return cache::verify(store, remove, [](const cache::EntryName& name, const cache::Entry& entry) {
    if ((name.kind == Kind::manifest || name.kind == Kind::shared) && !cache::Manifest::parse(entry.payload))
      return std::string("it is no list of files");
    if (name.kind == Kind::inputs && Inputs::is_of_this_version(entry.payload) &&
        !Inputs::parse(entry.payload))
      return std::string("it is no list of inputs");
    return std::string();
  });
}

}  // namespace tarsia::pipeline
