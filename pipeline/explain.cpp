// Finds the nearest entry and what differs.
//
// Two requests of one source share most inputs: the nearest entry is the one with the fewest that differ. The
// texts of the source weigh most, so that an edit of a file is told as that, and not as another library's
// options. An entry that shares neither the name nor the text of any file is none of this source.
#include "pipeline/explain.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "cache/inventory.h"
#include "cache/manifest.h"
#include "cache/mark.h"
#include "pipeline/key.h"

namespace tarsia::pipeline {
namespace {

using cache::Kind;
using cache::Lookup;

bool is_text(const Input& input) {
  return input.name.starts_with("file ") || input.name.starts_with("header ");
}

std::optional<Inputs> find_inputs(cache::DiskStore& store, const cache::Key& key) {
  cache::Hit hit;
  if (store.peek(Kind::inputs, key, true, hit) != Lookup::hit) return std::nullopt;
  return Inputs::parse(hit.entry.payload);
}

std::optional<cache::Manifest> find_manifest(cache::DiskStore& store, const cache::Key& key) {
  cache::Hit hit;
  if (store.peek(Kind::manifest, key, true, hit) != Lookup::hit) return std::nullopt;
  return cache::Manifest::parse(hit.entry.payload);
}

std::string bytes(std::uint64_t n) {
  return std::to_string(n) + (n == 1 ? " byte" : " bytes");
}

/// What happened to a file since the module was compiled; "" if nothing did.
std::string change_of(const Dependency& dependency) {
  FileStamp stamp;
  if (check(dependency, stamp) != DependencyState::changed) return {};
  struct stat status;
  const bool is_there = ::stat(dependency.path.c_str(), &status) == 0;
  if (dependency.absent) return "it appeared: the compiler had looked for it in vain";
  if (!is_there) return errno == ENOENT || errno == ENOTDIR ? "it is gone" : "it cannot be read any more";
  if (!S_ISREG(status.st_mode)) return "it is no regular file any more";
  // Of a file that was at rest when it was read, the stamp has the size.
  const auto now = static_cast<std::uint64_t>(status.st_size);
  if (dependency.stamp == FileStamp{} || dependency.stamp.size == now)
    return "its content changed (" + bytes(now) + ")";
  return "its content changed (" + bytes(dependency.stamp.size) + " then, " + bytes(now) + " now)";
}

std::vector<Difference> changes_of(const cache::DependencySet& set, const cache::Place& place) {
  std::vector<Difference> changes;
  for (const Dependency& dependency : set.dependencies)
    if (std::string how = change_of(dependency); !how.empty())
      changes.push_back({place.name_of(dependency.path), std::move(how)});
  return changes;
}

std::string quoted(const std::string& shown) {
  return shown.empty() ? "empty" : shown;
}

std::string files_of(const Inputs& inputs) {
  std::string list;
  for (const Input& input : inputs.inputs)
    if (input.name.starts_with("file ")) list += (list.empty() ? "" : ", ") + input.name.substr(5);
  return list;
}

std::vector<Difference> differences_of(const Inputs& then, const Inputs& now) {
  const auto differs = [&](const Input& input) {
    const Input* old = then.find(input.name);
    return !old || old->digest != input.digest;
  };
  const Input* march = now.find("option march");
  std::vector<Difference> texts, others, alike;
  for (const Input& input : now.inputs) {
    const Input* old = then.find(input.name);
    if (!differs(input)) continue;
    // What follows from the option alone is told by it.
    if (input.name == "the CPU" && march && differs(*march)) continue;
    const bool text = is_text(input);
    // Folders count by their paths or by how they lie to each other, as other options decide.
    if (old && !text && old->shown == input.shown) {
      alike.push_back({input.name, "it is another one, though it reads the same: " + quoted(input.shown)});
      continue;
    }
    Difference difference{.input = input.name};
    if (!old) {
      difference.how = text ? "it is new" : "it is new: " + quoted(input.shown);
    } else if (text) {
      difference.how = old->shown == input.shown
                           ? "its text changed (" + input.shown + ")"
                           : "its text changed (" + old->shown + " then, " + input.shown + " now)";
    } else {
      difference.how = "it was " + quoted(old->shown) + ", and is " + quoted(input.shown);
    }
    (text ? texts : others).push_back(std::move(difference));
  }
  for (const Input& input : then.inputs)
    if (!now.find(input.name))
      (is_text(input) ? texts : others)
          .push_back({input.name, is_text(input) ? "it is not there any more" : "it is not given any more"});
  texts.insert(texts.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  if (texts.empty()) texts = std::move(alike);
  if (texts.empty() && files_of(then) != files_of(now))
    texts.push_back({"the order of the files", "it was " + files_of(then) + ", and is " + files_of(now)});
  return texts;
}

/// How far two requests are apart; nothing if they are of different sources.
std::optional<unsigned> distance(const Inputs& then, const Inputs& now) {
  unsigned sum = 0;
  bool related = false;
  for (const Input& input : now.inputs) {
    const Input* old = then.find(input.name);
    const bool same = old && old->digest == input.digest;
    if (!is_text(input)) {
      sum += same ? 0 : 1;
      continue;
    }
    const bool moved = !same && std::ranges::any_of(then.inputs, [&](const Input& other) {
      return is_text(other) && other.digest == input.digest;
    });
    related |= old != nullptr || moved;
    sum += same ? 0 : moved ? 2 : old ? 10 : 20;
  }
  for (const Input& input : then.inputs)
    if (!now.find(input.name)) sum += is_text(input) ? 20 : 1;
  return related ? std::optional(sum) : std::nullopt;
}

/// The set of files that differs least from what lies on disk now.
const cache::DependencySet* nearest_set(const cache::Manifest& manifest, const cache::Place& place,
                                        std::vector<Difference>& changes) {
  const cache::DependencySet* nearest = nullptr;
  for (const cache::DependencySet& set : manifest.sets()) {
    std::vector<Difference> found = changes_of(set, place);
    if (nearest && found.size() >= changes.size()) continue;
    nearest = &set;
    changes = std::move(found);
  }
  return nearest;
}

/// Goes to the module that a set of files, or the request alone, names.
void look_at_module(cache::DiskStore& store, const std::set<cache::KeyId>& revoked, Explanation& told) {
  cache::Hit hit;
  const Lookup looked = store.peek(Kind::module, told.nearest->module_key, false, hit);
  if (looked == Lookup::hit && cache::is_signed_by_any(hit.entry.meta, revoked)) {
    told.reason = "revoked";
    told.differences.push_back({"the module " + hex(told.nearest->module_key).substr(0, 12),
                                "the key of one who signed it is revoked by TARSIA_TRUST"});
    return;
  }
  told.hit = looked == Lookup::hit;
  if (told.hit) return;
  told.reason = looked == Lookup::fault ? "fault" : hit.damaged ? "damaged" : "gone";
  const char* how = looked == Lookup::fault ? "the cache could not be read"
                    : hit.damaged           ? "it is damaged"
                                            : "it was swept, pruned or cleared";
  told.differences.push_back({"the module " + hex(told.nearest->module_key).substr(0, 12), how});
}

/// Looks at what other places compiled, of which `manifest` lists the files. The set that fits decides; if
/// none does, the nearest one says what differs. False: there is no set.
bool look_at_sets(const cache::Manifest& manifest, const cache::Place& place, cache::DiskStore& store,
                  const std::set<cache::KeyId>& revoked, Explanation& told) {
  std::vector<Difference> changes;
  const cache::DependencySet* set = nearest_set(manifest, place, changes);
  if (!set) return false;
  told.nearest = {.module_key = set->module_key, .inputs = find_inputs(store, told.request_key)};
  told.n_files = set->dependencies.size();
  if (changes.empty()) {
    look_at_module(store, revoked, told);
  } else {
    told.reason = "changed";
    told.differences = std::move(changes);
  }
  return true;
}

/// The sets that other places compiled, with the paths of this one.
cache::Manifest sets_of_others(const cache::Request& asked, cache::DiskStore& store) {
  cache::Hit hit;
  if (!asked.shared || store.peek(Kind::shared, *asked.shared, true, hit) != Lookup::hit) return {};
  auto manifest = cache::Manifest::parse(hit.entry.payload);
  if (!manifest) return {};
  manifest->move_to(asked.place);
  return std::move(*manifest);
}

void explain_by_nearest(const jit::CompileRequest& request, cache::DiskStore& store, Explanation& told) {
  const Inputs now = inputs_of(request, true);
  told.reason = "absent";
  std::optional<std::pair<unsigned, std::int64_t>> best;  // distance, minus the time
  cache::Key best_key{};
  std::optional<Inputs> best_inputs;
  cache::for_each_file(store.root(), [&](const cache::StoreFile& file) {
    if (file.folder != cache::kind_name(Kind::inputs)) return;
    const auto name = cache::entry_name(file);
    if (!name) return;
    std::optional<Inputs> then = find_inputs(store, name->key);
    if (!then) return;
    const std::optional<unsigned> apart = distance(*then, now);
    if (!apart || (best && std::pair(*apart, -then->made) >= *best)) return;
    best.emplace(*apart, -then->made);
    best_key = name->key;
    best_inputs = std::move(then);
  });
  if (!best) return;
  told.differences = differences_of(*best_inputs, now);
  told.nearest = {.module_key = best_key, .inputs = std::move(best_inputs)};
  if (const auto manifest = find_manifest(store, best_key)) {
    std::vector<Difference> changes;
    if (const cache::DependencySet* set = nearest_set(*manifest, place_of(request), changes)) {
      told.nearest->module_key = set->module_key;
      told.n_files = set->dependencies.size();
      told.differences.insert(told.differences.begin(), changes.begin(), changes.end());
    }
  }
}

}  // namespace

Explanation explain(const jit::CompileRequest& request, cache::DiskStore& store,
                    const std::set<cache::KeyId>& revoked) {
  Explanation told;
  told.request_key = request_key(request);
  if (!store.usable()) {
    told.reason = "fault";
    told.differences.push_back({"the cache", store.refusal()});
    return told;
  }
  const cache::Place place = place_of(request);
  for (const cache::Root& root : place.roots())
    if (!root.name.empty()) told.roots.emplace_back(root.name, root.path);
  const cache::Manifest others = sets_of_others(request_of(request, told.request_key), store);
  bool renewed = false;
  if (const auto own = find_manifest(store, told.request_key); own && !own->sets().empty()) {
    // What fits at another place is as good as what does here.
    const bool fits = cache::Manifest(*own).match(renewed) || !cache::Manifest(others).match(renewed);
    look_at_sets(fits ? *own : others, place, store, revoked, told);
    return told;
  }
  std::optional<Inputs> same = find_inputs(store, told.request_key);
  if ((!same || cache::Manifest(others).match(renewed)) && look_at_sets(others, place, store, revoked, told))
    return told;
  cache::Hit hit;
  const Lookup looked = store.peek(Kind::module, told.request_key, false, hit);
  if (looked == Lookup::hit || same) {
    const bool kept = !same || same->kept;
    told.nearest = {.module_key = told.request_key, .inputs = std::move(same)};
    if (kept) {
      look_at_module(store, revoked, told);
    } else {
      told.reason = "not kept";
      told.differences.push_back({"the time",
                                  "the source's text asks for it (__TIME__ and the like), so "
                                  "its modules are never kept"});
    }
    return told;
  }
  explain_by_nearest(request, store, told);
  return told;
}

std::vector<Difference> differences_from_nearest(const std::vector<std::pair<cache::Key, std::string>>& all,
                                                 const Inputs& now) {
  std::optional<unsigned> least;
  std::vector<Difference> differences;
  for (const auto& [key, bytes] : all) {
    const std::optional<Inputs> then = Inputs::parse(bytes);
    const std::optional<unsigned> apart = then ? distance(*then, now) : std::nullopt;
    if (!apart || (least && *apart >= *least)) continue;
    least = apart;
    differences = differences_of(*then, now);
  }
  return differences;
}

}  // namespace tarsia::pipeline
