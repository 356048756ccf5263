// The files of a command line as a source. The names in a source are relative and clean; users give and read
// paths, which need not be.
#pragma once

#include <tarsia/c_api.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tarsia::tools {

class Sources {
 public:
  /// Reads the files. Throws std::runtime_error, which names the file that cannot be read and the reason.
  explicit Sources(const std::vector<std::string>& paths);

  /// The files for the C interface, borrowed.
  std::vector<tarsia_file> files() const;

  /// The absolute folders in which the files' own `#include "…"` are looked up: each file's folder and the
  /// folders above it to which its `..` lead. Empty if no file has such an include.
  const std::vector<std::string>& include_dirs() const { return m_include_dirs; }

  /// Throws std::runtime_error if a file that is to be written is one of them.
  void check_output(const std::string& path) const;

  /// Returns the path of a file that a diagnostic names, as the user would write it.
  std::string shown(std::string_view file) const;
  /// Returns "file:line" with the file as the user would write it.
  std::string shown_place(std::string_view place) const;

  /// Returns a line of a file that a diagnostic names, if it can be read. Lines count from 1.
  std::optional<std::string> line(std::string_view file, int number) const;

 private:
  struct File {
    std::string path;    ///< as the user gave it
    std::string name;    ///< its name in the source
    std::string folder;  ///< its folder, absolute
    std::string text;
  };
  const File* find(std::string_view name) const;
  void add_include_dirs(const File& file);

  std::vector<File> m_files;
  std::vector<std::string> m_include_dirs;
};

/// Whether a file is a shared library rather than a text.
bool is_library(const std::string& path);

/// The source that a command's file is, with the files beside it; without any file if it is a library.
Sources sources_for(const std::string& file, const std::vector<std::string>& with = {});

}  // namespace tarsia::tools
