// A manifest: for one request, which contents of the files outside it led to which module.
//
//   manifest    := set_count set*                          at most k_max_sets, the newest first
//   set         := module_key dependency_count dependency*
//   dependency  := flags stamp content path_size path
//   flags       := u8: 1 absent
//   stamp       := device:u64 inode:u64 size:u64 mtime_ns:i64 ctime_ns:i64, all zero when nothing vouches
//   content     := 32 bytes
//   set_count, dependency_count, path_size := u32
//
// Numbers are little-endian. It is the payload of an entry of Kind::manifest under the request's key.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dependency.h"
#include "cache/key.h"
#include "cache/place.h"

namespace tarsia::cache {

inline constexpr std::size_t k_max_sets = 16;

struct DependencySet {
  Key module_key;
  std::vector<Dependency> dependencies;
};

class Manifest {
 public:
  /// Nothing if the bytes do not follow the grammar.
  static std::optional<Manifest> parse(std::string_view bytes);
  std::string serialise() const;

  /// The key of the module whose dependencies are all unchanged. Looks at every file at most once. Sets
  /// `renewed` if it updated stamps, so that the manifest is worth keeping again. Without a match, `changed`
  /// is the file by which the newest set failed.
  std::optional<Key> match(bool& renewed, std::string* changed = nullptr);
  /// Puts a set in front. Removes another set of the same module, and the oldest beyond k_max_sets.
  void add(DependencySet set);
  const std::vector<DependencySet>& sets() const { return m_sets; }
  /// Those of the set that leads to a module; nothing if none does.
  std::optional<std::vector<Dependency>> dependencies_of(const Key& module_key) const;
  /// Takes the files out of all sets that `is_forgotten` tells.
  void forget(const std::function<bool(const Dependency&)>& is_forgotten);
  /// Turns the names of files into paths at this place. Sets whose names mean nothing there go.
  void move_to(const Place& place);

 private:
  std::vector<DependencySet> m_sets;
};

/// The files by their names, sorted, without stamps. The key of the module is left out.
DependencySet named_set(const Place& place, const std::vector<Dependency>& dependencies);

/// The key of the module that `request_key` gives with these dependencies.
Key module_key(const Key& request_key, const std::vector<Dependency>& dependencies);

}  // namespace tarsia::cache
