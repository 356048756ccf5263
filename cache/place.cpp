// Names files by their roots.
#include "cache/place.h"

#include <algorithm>
#include <filesystem>

#include "base/machine/folders.h"

namespace tarsia::cache {
namespace {

/// Without ".", ".." and doubled or trailing slashes; links are not looked at, as in the compiler.
std::string normal(const std::string& path) {
  std::string plain = std::filesystem::path(path).lexically_normal().string();
  while (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

/// What is behind the folder's path, with the slash; nothing if the path lies elsewhere.
std::optional<std::string_view> below(std::string_view path, std::string_view folder) {
  if (folder == "/") folder = "";
  if (!path.starts_with(folder)) return std::nullopt;
  path.remove_prefix(folder.size());
  if (!path.empty() && path.front() != '/') return std::nullopt;
  return path;
}

bool leads_out(std::string_view path) {
  return path == "/.." || path.ends_with("/..") || path.find("/../") != path.npos;
}

}  // namespace

Place::Place(std::vector<Root> roots) : m_roots(std::move(roots)) {
  for (Root& root : m_roots) {
    std::string plain = normal(root.path);
    if (!root.name.empty() && plain != root.path) m_spelled.push_back(root.path);
    root.path = std::move(plain);
    m_relations += root.name.empty() ? root.path : root.name;
    m_relations += '\0';  // which no path has
  }
  for (std::size_t i = 0; i < m_roots.size(); ++i)
    for (std::size_t j = 0; j < m_roots.size(); ++j) {
      if (i == j || (m_roots[i].name.empty() && m_roots[j].name.empty())) continue;
      if (const auto rest = below(m_roots[i].path, m_roots[j].path))
        m_relations.append(std::to_string(i)).append(" in ").append(std::to_string(j)).append(*rest) += '\0';
    }
}

std::string Place::name_of(const std::string& path) const {
  const Root* deepest = nullptr;
  for (const Root& root : m_roots)  // of equal ones the first
    if (below(path, root.path) && (!deepest || root.path.size() > deepest->path.size())) deepest = &root;
  if (!deepest || deepest->name.empty()) return path;
  return '<' + deepest->name + '>' + std::string(*below(path, deepest->path));
}

std::optional<std::string> Place::path_of(std::string_view name) const {
  if (!name.starts_with('<')) return std::string(name);
  const std::size_t end = name.find('>');
  if (end == name.npos) return std::nullopt;
  const std::string_view rest = name.substr(end + 1);
  if ((!rest.empty() && rest.front() != '/') || leads_out(rest)) return std::nullopt;
  const auto root = std::ranges::find(m_roots, name.substr(1, end - 1), &Root::name);
  if (root == m_roots.end()) return std::nullopt;
  return (root->path == "/" ? std::string() : root->path) + std::string(rest);
}

bool Place::is_in(std::string_view bytes) const {
  const auto holds = [&](const std::string& path) { return bytes.find(path) != bytes.npos; };
  return std::ranges::any_of(m_roots, [&](const Root& r) { return !r.name.empty() && holds(r.path); }) ||
         std::ranges::any_of(m_spelled, holds);
}

bool is_portable(std::string_view name) {
  if (leads_out(name)) return false;
  const auto is_below = [&](const char* folder) { return below(name, folder).has_value(); };
  return name.starts_with('<') || std::ranges::any_of(k_machine_dirs, is_below) ||
         std::ranges::any_of(k_machine_library_dirs, is_below);
}

}  // namespace tarsia::cache
