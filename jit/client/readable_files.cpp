// The client's side of jit/worker/isolation/files_beyond.h.
#include "jit/client/readable_files.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>

#include "base/machine/folders.h"
#include "jit/include_lines.h"
#include "jit/readable.h"

namespace tarsia::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t k_largest_header = std::uint64_t{64} << 20;
constexpr long k_proc = 0x9fa0;  // PROC_SUPER_MAGIC

/// As the worker's file system understands a path: ".." goes by the text.
std::string plain(const std::string& path) {
  std::string text = fs::path(path).lexically_normal();
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

UniqueFd open_folder_at(const std::string& path) {
  return UniqueFd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
}

UniqueFd open_file_at(const std::string& path) {
  UniqueFd file;
  struct stat status{};
  if (open_regular(path, file, status, Links::follow) != 0) file.reset();
  return file;
}

bool is_of_proc(const UniqueFd& file) {
  struct statfs status{};
  return ::fstatfs(file.get(), &status) != 0 || status.f_type == k_proc;
}

/// A library, an object, or an archive of objects. Memory that a crashed program left is ELF, too, and is
/// none of these.
bool is_for_linking(const UniqueFd& file) {
  char head[EI_NIDENT + sizeof(Elf64_Half)] = {};
  if (read_at(file.get(), head, 8, 0) != 0) return false;
  if (std::memcmp(head, "!<arch>\n", 8) == 0 || std::memcmp(head, "!<thin>\n", 8) == 0) return true;
  Elf64_Half type = ET_NONE;
  if (std::memcmp(head, ELFMAG, SELFMAG) != 0 || read_at(file.get(), head, sizeof head, 0) != 0) return false;
  std::memcpy(&type, head + EI_NIDENT, sizeof type);
  return type == ET_REL || type == ET_DYN;
}

}  // namespace

ReadableFiles::ReadableFiles(const CompileRequest& request) : m_roots(readable_roots(request)) {
  const auto add = [&](const std::vector<std::string>& folders) {
    m_roots.insert(m_roots.end(), folders.begin(), folders.end());
  };
  add(request.cuda_parts.include_dirs);
  add(library_folders(request).all());
  m_roots.insert(m_roots.end(), std::begin(k_machine_library_dirs), std::end(k_machine_library_dirs));
  for (std::string& root : m_roots) root = plain(root);
}

bool ReadableFiles::is_inside(const std::string& path) const {
  return std::ranges::any_of(m_roots, [&](const std::string& root) { return is_below(path, root); });
}

// From the file in a root to the one that is asked for: each must name the next.
bool ReadableFiles::is_named(const OpenFile& asked) const {
  if (asked.named_by.empty() || !is_inside(plain(asked.named_by.back()))) return false;
  for (std::size_t i = asked.named_by.size(); i-- > 0;) {
    const std::string by = plain(asked.named_by[i]);
    const std::string target = plain(i == 0 ? asked.path : asked.named_by[i - 1]);
    const UniqueFd file = open_file_at(by);
    std::string text;
    if (!file || is_of_proc(file) || read_all(file.get(), text, k_largest_header) != 0) return false;
    if (!any_include(text, [&](std::string_view name, bool is_angled) {
          return !is_angled && !name.starts_with('/') &&
                 plain(folder_of(by) + "/" + std::string(name)) == target;
        }))
      return false;
  }
  return true;
}

UniqueFd ReadableFiles::open(const OpenFile& asked) const {
  if (!asked.path.starts_with('/') || asked.path.find('\0') != std::string::npos) return {};
  const std::string path = plain(asked.path);
  const bool may = is_inside(path);
  if (asked.folder && !may) return {};
  UniqueFd file = asked.folder ? open_folder_at(path) : open_file_at(path);
  if (!file || is_of_proc(file)) return {};
  if (!may && !is_named(asked) && !is_for_linking(file)) return {};
  return file;
}

}  // namespace tarsia::jit
