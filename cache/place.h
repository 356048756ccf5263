// Where the files lie that a compile may read: folders with names, so that files can be told apart without
// saying where a machine or a checkout keeps them.
//
//   name := '<' root '>' ['/' path]     below a root: "<include_dirs 0>/ops/add.h"
//         | path                        elsewhere: as it is
//
// Problem: which file a name means at another place must be the file that the compiler would read there.
// Choice: a file belongs to the deepest root that contains it. How roots contain each other is a part of the
// key (relations), so two places of one key give every file the same name. Only a path with ".." reaches a
// file of one root from another one, or from nowhere: the compiler says when it followed one (k_climbed,
// base/dependency.h), and the files of such a compile keep the paths of their machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dependency.h"

namespace tarsia::cache {

struct Root {
  std::string name;  ///< "include_dirs 0"; empty: the same on every machine, its files keep their paths
  std::string path;  ///< absolute
};

/// Immutable.
class Place {
 public:
  Place() = default;
  explicit Place(std::vector<Root> roots);

  /// The names of the roots, and where one lies in another. Places with the same text, and the same contents
  /// behind the same names, give the same module.
  const std::string& relations() const { return m_relations; }
  const std::vector<Root>& roots() const { return m_roots; }
  std::string name_of(const std::string& path) const;
  /// Nothing if the name's root is not one of this place, or if the name leads out of it.
  std::optional<std::string> path_of(std::string_view name) const;
  /// Whether bytes contain the path of a named root, so that they belong to this place alone.
  bool is_in(std::string_view bytes) const;

 private:
  std::vector<Root> m_roots;           ///< paths are normal
  std::vector<std::string> m_spelled;  ///< paths of named roots as they were given, if they were not normal
  std::string m_relations;
};

/// Whether a name means the same file on other machines, as far as names tell: it is below a root, or in the
/// machine's own folders of headers and libraries.
bool is_portable(std::string_view name);

}  // namespace tarsia::cache
