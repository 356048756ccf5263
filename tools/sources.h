// The files of a command line as a source, and back: names in a source are relative and clean, those that
// users give and read are not.
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
  /// Reads the files. Throws std::runtime_error that says which cannot be read and why.
  explicit Sources(const std::vector<std::string>& paths);

  /// For the C ABI; borrowed.
  std::vector<tarsia_file> files() const;

  /// Absolute folders in which the files' own `#include "…"` are looked up: each file's folder, and above it
  /// as far as its `..` lead. Empty where no file includes anything that way.
  const std::vector<std::string>& include_dirs() const { return m_include_dirs; }

  /// A file that a diagnostic names, as the user would write it.
  std::string shown(std::string_view file) const;
  /// "file:line" with the file as the user would write it.
  std::string shown_place(std::string_view place) const;

  /// A line of a file that a diagnostic names, if its text is at hand. Lines count from 1.
  std::optional<std::string> line(std::string_view file, int number) const;

 private:
  struct File {
    std::string path;    ///< as given
    std::string name;    ///< in the source
    std::string folder;  ///< absolute
    std::string text;
  };
  const File* find(std::string_view name) const;
  void add_include_dirs(const File& file);

  std::vector<File> m_files;
  std::vector<std::string> m_include_dirs;
};

/// Whether the file is a shared library rather than a text.
bool is_library(const std::string& path);

}  // namespace tarsia::tools
