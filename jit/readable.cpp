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

}  // namespace tarsia::jit
