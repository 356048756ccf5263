// Where the files lie that a request may read: the rules that the worker and its client share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// The folders whose headers a request may read.
std::vector<std::string> readable_roots(const CompileRequest& request);

/// The folders of the libraries that a request links, without the machine's. Empty if it links none.
struct LibraryFolders {
  std::vector<std::string> searched;  ///< its library_dirs
  std::vector<std::string> of_paths;  ///< of libraries that are given by path
  std::vector<std::string> of_cuda;   ///< NVIDIA's, which are searched next
  std::vector<std::string> all() const;
};
LibraryFolders library_folders(const CompileRequest& request);

/// Whether a path is the folder or lies below it, by the text of both.
bool is_below(std::string_view path, std::string_view folder);

}  // namespace tarsia::jit
