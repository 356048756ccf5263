// Roots of a request, and the includes of a text.
#include "jit/readable.h"

#include <iterator>

namespace tarsia::jit {

std::vector<std::string> readable_roots(const CompileRequest& request) {
  std::vector<std::string> roots = request.options.include_dirs;
  if (request.cuda)
    roots.insert(roots.end(), request.cuda_parts.include_dirs.begin(), request.cuda_parts.include_dirs.end());
  roots.insert(roots.end(), std::begin(k_machine_dirs), std::end(k_machine_dirs));
  return roots;
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::vector<std::string_view> quoted_includes(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; (at = text.find("include", at)) != text.npos; at += 7) {
    const std::size_t before = text.find_last_not_of(" \t", at == 0 ? text.npos : at - 1);
    if (at == 0 || before == text.npos || text[before] != '#') continue;
    const std::size_t quote = text.find_first_not_of(" \t", at + 7);
    if (quote == text.npos || text[quote] != '"') continue;
    const std::size_t end = text.find_first_of("\"\n", quote + 1);
    names.push_back(text.substr(quote + 1, end == text.npos ? text.npos : end - quote - 1));
  }
  return names;
}

}  // namespace tarsia::jit
