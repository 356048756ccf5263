// Follows the includes of device code: finds the texts that NVRTC will read, before it runs.
//
// Work-around: NVRTC does not list the headers that it reads.
// Trigger: device code that includes files on disk. Symptom: nothing tells the cache which files to check.
// Removal: NVRTC has an option that lists them.
//
// So #include lines are followed without regard to conditions, in the same search order. The answer may
// hold headers that a condition skips. It misses only headers whose name is made by a macro.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/compile.h"
#include "jit/worker/device/nvrtc_source.h"

namespace tarsia::jit {

/// A header on disk: its includes, and the hash of its bytes.
struct DiskHeader {
  Dependency dependency;
  std::vector<IncludeLine> includes;
  TextPlace nul;  ///< its first NUL byte; the line is 0 if there is none
};

/// The header at a path, read once as long as it does not change. Null if there is none or it is too large.
/// Thread-safe.
std::shared_ptr<const DiskHeader> disk_header(const std::string& path);

/// The regular file `name` in the first of the directories that holds it; empty if none does.
std::string find_in_dirs(const std::vector<std::string>& dirs, const std::string& name);

/// Whether a path lies in one of the folders, which are plain paths; links are not followed.
bool is_inside(const std::vector<std::string>& dirs, const std::string& path);

/// Whether a name that is searched in `dir`, in one of `dirs` or below, leads past it: by ".." to where no
/// other of them holds both, or as a whole path into one of them (k_climbed).
bool climbs_out(const std::vector<std::string>& dirs, const std::string& dir, const std::string& name);

/// What is left of a path below the innermost of the folders that hold it; the path itself if none does. One
/// include folder may lie in another.
std::string name_below(const std::vector<std::string>& dirs, const std::string& path);

/// "a/../b/./c" → "b/c"; leading ".." stay.
std::string normal_path(std::string_view path);

/// Follows includes from file to file.
class IncludeWalk {
 public:
  /// `is_virtual` tells the names that NVRTC gets as texts. NVRTC takes those before any file.
  IncludeWalk(std::vector<std::string> dirs, std::function<bool(const std::string&)> is_virtual)
      : m_dirs(std::move(dirs)), m_is_virtual(std::move(is_virtual)) {}

  /// Adds a file on disk and all files that it leads to.
  void add(const std::string& path);

  const std::map<std::string, std::shared_ptr<const DiskHeader>>& headers() const { return m_headers; }
  /// Virtual names that the files on disk include.
  const std::set<std::string>& virtual_names() const { return m_virtual_names; }
  /// Files outside of all directories to which an include leads. They were not read.
  const std::set<std::string>& outside() const { return m_outside; }
  /// Whether an include leads past the directory that it is searched in.
  bool climbs() const { return m_climbs; }

 private:
  std::vector<std::string> m_dirs;
  std::function<bool(const std::string&)> m_is_virtual;
  std::map<std::string, std::shared_ptr<const DiskHeader>> m_headers;
  std::set<std::string> m_virtual_names;
  std::set<std::string> m_outside;
  bool m_climbs = false;
  std::map<std::string, std::string>
      m_found;  // by name as written, for includes that do not depend on the file
};

}  // namespace tarsia::jit
