// Roots of a request, and the includes of a text.
#include "jit/readable.h"

#include <algorithm>
#include <iterator>

#include "base/machine/folders.h"

namespace tarsia::jit {

std::vector<std::string> readable_roots(const CompileRequest& request) {
  std::vector<std::string> roots = request.options.include_dirs;
  if (request.cuda)
    roots.insert(roots.end(), request.cuda_parts.include_dirs.begin(), request.cuda_parts.include_dirs.end());
  roots.insert(roots.end(), std::begin(k_machine_dirs), std::end(k_machine_dirs));
  return roots;
}

std::vector<std::string> LibraryFolders::all() const {
  std::vector<std::string> folders = searched;
  folders.insert(folders.end(), of_paths.begin(), of_paths.end());
  folders.insert(folders.end(), of_cuda.begin(), of_cuda.end());
  return folders;
}

LibraryFolders library_folders(const CompileRequest& request) {
  const CompileOptions& options = request.options;
  if (options.libraries.empty()) return {};
  LibraryFolders folders{.searched = options.library_dirs, .of_cuda = request.cuda_parts.library_dirs};
  for (const std::string& library : options.libraries)
    if (const std::size_t end = library.rfind('/'); end != library.npos)
      folders.of_paths.push_back(library.substr(0, std::max<std::size_t>(end, 1)));
  return folders;
}

bool is_below(std::string_view path, std::string_view folder) {
  if (folder.ends_with('/')) folder.remove_suffix(1);
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

}  // namespace tarsia::jit
