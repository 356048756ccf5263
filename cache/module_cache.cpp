// Looks entries up, and keeps them, in memory and on disk, on two levels of keys.
#include "cache/module_cache.h"

#include "base/log.h"
#include "cache/mark.h"

namespace tarsia::cache {
namespace {

/// The beginning of a key, as far as people need it to tell keys apart.
std::string short_name(const Key& key) {
  return hex(key).substr(0, 12);
}

/// What a look-up without a hit means for the request.
Missing missing(Lookup looked, const Hit& hit, const std::string& what) {
  if (looked == Lookup::fault) return {Count::miss_fault, "the cache could not be read"};
  if (hit.damaged) return {Count::miss_damaged, what + " was damaged"};
  return {Count::miss_gone, what + " is gone"};
}

CachedModule handed_out(StoredModule module, std::shared_ptr<const UniqueFd> file, Origin origin) {
  return {module.key, std::move(module.path), std::move(file), std::move(module.meta), origin};
}

}  // namespace

void ModuleCache::refuse_signed_by(const std::set<KeyId>& revoked) {
  if (revoked.empty()) return;
  const std::lock_guard lock(m_refused_mutex);
  m_refused.insert(revoked.begin(), revoked.end());
  m_refuses = true;
}

bool ModuleCache::is_refused(std::string_view meta) {
  if (!m_refuses) return false;
  const std::lock_guard lock(m_refused_mutex);
  return is_signed_by_any(meta, m_refused);
}

std::optional<CachedModule> ModuleCache::find_module(const Key& key, Missing& why) {
  std::optional<StoredModule> known = m_memory.find_module(key);
  if (known && is_refused(known->meta)) {
    m_memory.drop_module(key);
    known.reset();
  }
  if (known) {
    if (known->memory) {
      std::shared_ptr<const UniqueFd> file = known->memory;
      return handed_out(std::move(*known), std::move(file), Origin::memory);
    }
    UniqueFd fd;
    if (m_disk.reopen(known->path, known->stamp, fd)) {
      return handed_out(std::move(*known), std::make_shared<const UniqueFd>(std::move(fd)), Origin::memory);
    }
    m_memory.drop_module(key);
  }
  Hit hit;
  // If files of the store cannot be mapped as code, the bytes go into a memory file.
  if (const Lookup looked = m_disk.find(Kind::module, key, !m_disk.executable(), hit);
      looked != Lookup::hit) {
    why = missing(looked, hit, "its module " + short_name(key));
    return std::nullopt;
  }
  if (is_refused(hit.entry.meta)) {
    log().warn("the module {} goes: its signer's key is revoked", short_name(key));
    m_disk.remove(Kind::module, key);
    why = {Count::miss_gone, "the key that signed its module " + short_name(key) + " is revoked"};
    return std::nullopt;
  }
  StoredModule found;
  std::shared_ptr<const UniqueFd> file;
  if (m_disk.executable()) {
    found = {.key = key, .path = hit.path, .stamp = hit.stamp, .meta = std::move(hit.entry.meta)};
    file = std::make_shared<const UniqueFd>(std::move(hit.fd));
  } else {
    found = stored_in_memory(key, hit.entry.payload, std::move(hit.entry.meta));
    file = found.memory;
  }
  m_memory.keep_module(found);
  return handed_out(std::move(found), std::move(file), Origin::disk);
}

std::optional<CachedModule> ModuleCache::find(const Key& request_key, Missing* told) {
  Missing ignored;
  Missing& why = told ? *told : ignored;
  std::optional<Missing> damage;  // it is found once: the second look finds nothing
  const auto note_damage = [&] {
    if (why.reason == Count::miss_damaged) damage = why;
  };
  if (const auto known = m_memory.find_manifest(request_key)) {
    Manifest manifest = *known;
    bool renewed = false;
    const std::optional<Key> key = manifest.match(renewed);
    if (renewed) m_memory.keep_manifest(request_key, std::move(manifest));
    if (key) {
      if (auto found = find_module(*key, why)) return found;
      note_damage();
    }
    // Another process may have compiled with the current files. The manifest on disk tells.
  } else if (auto found = find_module(request_key, why)) {
    return found;
  } else {
    note_damage();
  }
  Hit hit;
  if (const Lookup looked = m_disk.find(Kind::manifest, request_key, true, hit); looked != Lookup::hit) {
    if (damage) {
      why = *damage;
      return std::nullopt;
    }
    why = missing(looked, hit, "the list of the files that it was compiled from");
    if (why.reason == Count::miss_gone) why = {Count::miss_absent, "nothing is kept under this key"};
    return std::nullopt;
  }
  std::optional<Manifest> manifest = Manifest::parse(hit.entry.payload);
  if (!manifest) {
    why = {Count::miss_damaged, "the list of the files that it was compiled from is corrupt"};
    return std::nullopt;
  }
  bool renewed = false;
  std::string changed;
  const std::optional<Key> key = manifest->match(renewed, &changed);
  if (renewed) m_disk.keep(Kind::manifest, request_key, manifest->serialise(), {});
  m_memory.keep_manifest(request_key, std::move(*manifest));
  if (!key) {
    why = {Count::miss_changed, changed + " changed since it was compiled"};
    return std::nullopt;
  }
  auto found = find_module(*key, why);
  if (!found && damage) why = *damage;
  return found;
}

std::optional<CachedModule> ModuleCache::find_elsewhere(const Request& request, FileStamp* seen,
                                                        Missing* why) {
  if (!request.shared) return std::nullopt;
  Hit hit;
  if (m_disk.find(Kind::shared, *request.shared, true, hit) != Lookup::hit) return std::nullopt;
  if (seen) {
    if (*seen == hit.stamp) return std::nullopt;
    *seen = hit.stamp;
  }
  std::optional<Manifest> manifest = Manifest::parse(hit.entry.payload);
  if (!manifest) return std::nullopt;
  manifest->move_to(request.place);
  bool renewed = false;
  std::string differs;
  const std::optional<Key> key = manifest->match(renewed, &differs);
  if (!key) {
    if (why && why->reason == Count::miss_absent && !differs.empty())
      *why = {Count::miss_changed, differs + " is not what it was where this was compiled"};
    return std::nullopt;
  }
  Missing ignored;
  std::optional<CachedModule> found = find_module(*key, ignored);
  if (!found) return std::nullopt;
  // From now on it is found here, by the stamps of this place's files.
  for (const DependencySet& set : manifest->sets())
    if (set.module_key == *key) add_set(request.key, set, m_disk.usable());
  return found;
}

void ModuleCache::add_set(const Key& request_key, DependencySet set, bool on_disk) {
  Manifest manifest;
  Hit hit;
  // What other contents of the files led to stays known.
  if (const auto known = m_memory.find_manifest(request_key)) manifest = *known;
  if (m_disk.find(Kind::manifest, request_key, true, hit) == Lookup::hit) {
    if (std::optional<Manifest> stored = Manifest::parse(hit.entry.payload)) manifest = std::move(*stored);
  }
  manifest.add(std::move(set));
  if (on_disk) m_disk.keep(Kind::manifest, request_key, manifest.serialise(), {});
  m_memory.keep_manifest(request_key, std::move(manifest));
}

std::optional<NewModule> new_module(const Request& request, std::string& bytes, std::string meta,
                                    std::vector<Dependency> dependencies) {
  const bool climbed =
      std::erase_if(dependencies, [](const Dependency& d) { return d.path == k_climbed; }) > 0;
  if (const Dependency* changed = renew_stamps(dependencies)) {
    log().info("{} changed during the compile: the module is not cached", changed->path);
    return std::nullopt;
  }
  NewModule made{.key = request.key, .bytes = std::move(bytes), .meta = std::move(meta)};
  const bool alone = dependencies.empty();
  // Where the bytes, a warning's text or the way to a file tell the place, they are of use only here.
  if (request.shared && !climbed && !request.place.is_in(made.bytes) && !request.place.is_in(made.meta)) {
    made.everywhere = named_set(request.place, dependencies);
    if (!alone) made.key = module_key(*request.shared, made.everywhere->dependencies);
    made.everywhere->module_key = made.key;
  } else if (!alone) {
    made.key = module_key(request.key, dependencies);
  }
  made.here = {made.key, std::move(dependencies)};
  return made;
}

namespace {

/// Whether a request leads to the module by way of a list of files.
bool has_list(const Request& request, const NewModule& module) {
  return module.key != request.key || !module.here.dependencies.empty();
}

}  // namespace

bool ModuleCache::write(const Request& request, const NewModule& module) {
  if (!m_disk.keep(Kind::module, module.key, module.bytes, module.meta)) return false;
  if (has_list(request, module)) add_set(request.key, module.here, true);
  if (request.shared && module.everywhere) list_for_all_places(*request.shared, *module.everywhere);
  return true;
}

CachedModule ModuleCache::in_memory(const NewModule& made) {
  StoredModule module = stored_in_memory(made.key, made.bytes, made.meta);
  m_memory.keep_module(module);
  std::shared_ptr<const UniqueFd> file = module.memory;
  return handed_out(std::move(module), std::move(file), Origin::memory);
}

CachedModule ModuleCache::keep(const Request& request, const NewModule& module) {
  if (!write(request, module)) return take(request, module);
  if (auto found = opened(module)) return std::move(*found);
  return in_memory(module);
}

CachedModule ModuleCache::take(const Request& request, const NewModule& module) {
  if (has_list(request, module)) add_set(request.key, module.here, false);
  return in_memory(module);
}

// Memory then names the file: it need not hold the bytes any more.
void ModuleCache::keep_on_disk(const Request& request, const NewModule& module) {
  if (write(request, module)) static_cast<void>(opened(module));
}

void ModuleCache::forget(const Key& module_key) {
  m_memory.drop_module(module_key);
  m_disk.remove(Kind::module, module_key);
}

void ModuleCache::list_for_all_places(const Key& shared_key, DependencySet named) {
  Manifest manifest;
  Hit hit;
  if (m_disk.find(Kind::shared, shared_key, true, hit) == Lookup::hit)
    if (std::optional<Manifest> stored = Manifest::parse(hit.entry.payload)) manifest = std::move(*stored);
  manifest.add(std::move(named));
  m_disk.keep(Kind::shared, shared_key, manifest.serialise(), {});
}

/// A module that was just written, if code can be mapped from there.
std::optional<CachedModule> ModuleCache::opened(const NewModule& made) {
  if (!m_disk.executable()) return std::nullopt;
  StoredModule module{.key = made.key, .path = m_disk.path_of(Kind::module, made.key), .meta = made.meta};
  UniqueFd fd;
  struct stat status;
  if (open_regular(module.path, fd, status) != 0) return std::nullopt;
  module.stamp = FileStamp::of(status);
  // Opened with the lock that keeps it from being evicted. A file written under that name since is as good.
  UniqueFd locked;
  if (!m_disk.reopen(module.path, module.stamp, locked)) return std::nullopt;
  m_memory.keep_module(module);
  return handed_out(std::move(module), std::make_shared<const UniqueFd>(std::move(locked)), Origin::disk);
}

std::optional<std::vector<Dependency>> ModuleCache::dependencies_of(const Key& request_key,
                                                                    const Key& module_key) {
  if (request_key == module_key) return std::vector<Dependency>();
  if (const auto known = m_memory.find_manifest(request_key))
    if (auto found = known->dependencies_of(module_key)) return found;
  Hit hit;
  if (m_disk.peek(Kind::manifest, request_key, true, hit) != Lookup::hit) return std::nullopt;
  const auto manifest = Manifest::parse(hit.entry.payload);
  return manifest ? manifest->dependencies_of(module_key) : std::nullopt;
}

CachedModule ModuleCache::pass_through(const Key& request_key, std::string_view bytes, std::string meta) {
  StoredModule module = stored_in_memory(request_key, bytes, std::move(meta));
  std::shared_ptr<const UniqueFd> file = module.memory;
  return handed_out(std::move(module), std::move(file), Origin::memory);
}

std::optional<SetForAllPlaces> set_for_all_places(const Request& request, const Key& key,
                                                  const std::vector<Dependency>& dependencies,
                                                  std::string_view bytes, std::string_view meta) {
  if (!request.shared) return std::nullopt;
  SetForAllPlaces everywhere{*request.shared, named_set(request.place, dependencies)};
  everywhere.set.module_key = key;
  // keep() gives a key that no place decides to what has files, and is for all places.
  const bool is_for_all = dependencies.empty()
                              ? !request.place.is_in(bytes) && !request.place.is_in(meta)
                              : key == module_key(*request.shared, everywhere.set.dependencies);
  if (!is_for_all) return std::nullopt;
  return everywhere;
}

}  // namespace tarsia::cache
