// Opens the user's files for a confined worker, which may not.
#pragma once

#include <string>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// What one request may read. A worker that a source has taken over gets nothing else.
class ReadableFiles {
 public:
  explicit ReadableFiles(const CompileRequest& request);

  /// A regular file, or a folder for its list of names, open for reading. Links are followed: who put them
  /// there wanted that. None if it cannot be opened, or if the request may not read it. It may read what lies
  /// below its include and library folders, those of CUDA and the machine's; what a readable file includes by
  /// its own name ("../common.h"), as `asked.named_by` says; and ELF's libraries and objects anywhere, to
  /// which linker scripts lead. Nothing of /proc, whatever the folders are.
  UniqueFd open(const OpenFile& asked) const;

 private:
  bool is_inside(const std::string& path) const;
  bool is_named(const OpenFile& asked) const;

  std::vector<std::string> m_roots;
};

}  // namespace tarsia::jit
