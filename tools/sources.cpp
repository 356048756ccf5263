// Reads the files of a command line and gives them names in a source.
#include "tools/sources.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "tools/file.h"
#include "tools/plain_comments.h"

namespace tarsia::tools {
namespace {

namespace fs = std::filesystem;

std::string read_text(const std::string& path) {
  std::string text;
  if (const int error = read_file(path, text, TARSIA_MAX_SOURCE_BYTES + std::size_t{1}))
    throw std::runtime_error("cannot read '" + path + "': " + std::strerror(error));
  if (text.size() > TARSIA_MAX_SOURCE_BYTES)
    throw std::runtime_error("'" + path + "' is larger than " +
                             std::to_string(TARSIA_MAX_SOURCE_BYTES >> 20) +
                             " MiB, which is the most that a source may have: move data out of the text");
  return with_plain_comments(std::move(text));
}

/// Returns the name of a file in the source: the path itself if it is relative and stays below the working
/// directory, else the path without the folders that lead elsewhere.
std::string name_of(const std::string& path) {
  std::string name;
  const fs::path clean = fs::path(path).lexically_normal();
  const fs::path& parts = clean.is_absolute() ? clean.filename() : clean;
  for (const fs::path& part : parts) {
    if (part == ".." || part == "." || part.empty()) continue;
    if (!name.empty()) name += '/';
    name += part.string();
  }
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ' || c == 127 || c == '\\' || c == '"') c = '_';
  return name;
}

/// Returns the names in the text's `#include "…"`, or "" if the name is a macro. Includes in comments are
/// listed too and do no harm.
std::vector<std::string_view> quoted_includes(std::string_view text) {
  std::vector<std::string_view> names;
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  for (std::size_t at = 0; (at = text.find('#', at)) != std::string_view::npos;) {
    ++at;
    while (at < text.size() && blank(text[at])) ++at;
    if (!text.substr(at).starts_with("include")) continue;
    at += 7;
    while (at < text.size() && blank(text[at])) ++at;
    if (at == text.size() || text[at] == '<') continue;
    const std::size_t end = text[at] == '"' ? text.find_first_of("\"\n", at + 1) : std::string_view::npos;
    names.push_back(end == std::string_view::npos ? std::string_view() : text.substr(at + 1, end - at - 1));
  }
  return names;
}

}  // namespace

Sources::Sources(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (path.ends_with(".py"))
      throw std::runtime_error(
          "'" + path +
          "' is Python: run it with python, and test ops that are written in Python with "
          "tarsia.testing.assert_op(\"NAME\")");
    // The includes of standard input are looked up in the working directory.
    File file{path == "-" ? "<stdin>" : path, path == "-" ? "stdin" : name_of(path),
              fs::absolute(path).lexically_normal().parent_path().string(), read_text(path)};
    while (find(file.name)) file.name.insert(0, "other/");
    m_files.push_back(std::move(file));
  }
  for (const File& file : m_files) add_include_dirs(file);
}

void Sources::add_include_dirs(const File& file) {
  const auto add = [&](std::string dir) {
    if (std::find(m_include_dirs.begin(), m_include_dirs.end(), dir) == m_include_dirs.end())
      m_include_dirs.push_back(std::move(dir));
  };
  const std::vector<std::string_view> names = quoted_includes(file.text);
  if (names.empty()) return;
  add(file.folder);
  int deepest = 0;
  for (std::string_view name : names) {
    int depth = 0;
    for (; name.starts_with("../"); name.remove_prefix(3)) ++depth;
    deepest = std::max(deepest, depth);
  }
  fs::path above = file.folder;
  while (deepest-- > 0) above = above.parent_path();
  add(above.string());
}

void Sources::check_output(const std::string& path) const {
  std::error_code none;
  for (const File& file : m_files)
    if (fs::equivalent(file.path, path, none))
      throw std::runtime_error("the output '" + path + "' is a source: give it another name");
}

std::vector<tarsia_file> Sources::files() const {
  std::vector<tarsia_file> files;
  for (const File& file : m_files) files.push_back({file.name.c_str(), file.text.data(), file.text.size()});
  return files;
}

const Sources::File* Sources::find(std::string_view name) const {
  const auto found =
      std::find_if(m_files.begin(), m_files.end(), [&](const File& f) { return f.name == name; });
  return found == m_files.end() ? nullptr : &*found;
}

std::string Sources::shown(std::string_view name) const {
  if (const File* file = find(name)) return file->path;
  // A header beside one of the files is spelt as that file was.
  for (const File& file : m_files) {
    if (file.folder.empty() || !name.starts_with(file.folder) ||
        !name.substr(file.folder.size()).starts_with('/'))
      continue;
    const std::size_t slash = file.path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : file.path.substr(0, slash + 1);
    return folder + std::string(name.substr(file.folder.size() + 1));
  }
  return std::string(name);
}

std::string Sources::shown_place(std::string_view place) const {
  const std::size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return shown(place);
  return shown(place.substr(0, colon)) + std::string(place.substr(colon));
}

std::optional<std::string> Sources::line(std::string_view name, int number) const {
  std::string header;
  std::string_view text;
  if (const File* file = find(name)) {
    text = file->text;
  } else if (name.starts_with('/')) {
    try {
      header = read_text(std::string(name));
    } catch (const std::runtime_error&) {
      return std::nullopt;
    }
    text = header;
  }
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  text = text.substr(0, text.find('\n'));
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.empty()) return std::nullopt;
  return std::string(text);
}

bool is_library(const std::string& path) {
  std::error_code ec;
  // Reading from a pipe would consume the text that is read later.
  if (!fs::is_regular_file(path, ec)) return false;
  std::string magic;
  return read_file(path, magic, 4) == 0 && magic ==
                                               "\x7f"
                                               "ELF";
}

Sources sources_for(const std::string& file, const std::vector<std::string>& with) {
  std::vector<std::string> files;
  if (!is_library(file)) {
    files.push_back(file);
    files.insert(files.end(), with.begin(), with.end());
  }
  return Sources(files);
}

}  // namespace tarsia::tools
