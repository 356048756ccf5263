// The file system that Clang sees.
#include "jit/worker/source/source_fs.h"

#include <sys/stat.h>

#include "base/dependency.h"
#include "jit/include_lines.h"
#include "jit/worker/isolation/files_beyond.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

namespace tarsia::jit {
namespace {

constexpr size_t k_largest_header = 64u << 20;

using llvm::sys::fs::file_type;

// Every virtual file has the same time and an identity that depends on its path alone.
llvm::vfs::Status make_status(llvm::StringRef path, size_t size, file_type type) {
  return llvm::vfs::Status(path, llvm::sys::fs::UniqueID(0x7a, llvm::xxh3_64bits(path)),
                           llvm::sys::TimePoint<>(), 0, 0, size, type, llvm::sys::fs::all_read);
}

class TextFile final : public llvm::vfs::File {
 public:
  TextFile(llvm::vfs::Status status, llvm::StringRef content)
      : m_status(std::move(status)), m_content(content) {}
  llvm::ErrorOr<llvm::vfs::Status> status() override { return m_status; }
  llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> getBuffer(const llvm::Twine& name, int64_t,
                                                               bool needs_nul, bool) override {
    return llvm::MemoryBuffer::getMemBuffer(m_content, name.str(), needs_nul);
  }
  std::error_code close() override { return {}; }

 private:
  llvm::vfs::Status m_status;
  llvm::StringRef m_content;
};

/// A folder's entries.
class Listing final : public llvm::vfs::detail::DirIterImpl {
 public:
  explicit Listing(std::map<std::string, file_type> entries) : m_entries(std::move(entries)) { show(); }
  std::error_code increment() override {
    ++m_next;
    show();
    return {};
  }

 private:
  void show() {
    CurrentEntry = m_next == m_entries.end() ? llvm::vfs::directory_entry()
                                             : llvm::vfs::directory_entry(m_next->first, m_next->second);
  }
  std::map<std::string, file_type> m_entries;
  std::map<std::string, file_type>::const_iterator m_next = m_entries.begin();
};

bool below(llvm::StringRef path, llvm::StringRef dir) {
  return path.starts_with(dir) && (path.size() == dir.size() || path[dir.size()] == '/');
}

std::string normal(const llvm::Twine& path) {
  llvm::SmallString<256> absolute;
  path.toVector(absolute);
  if (!absolute.str().starts_with("/")) {
    llvm::SmallString<256> joined(k_source_dir);
    llvm::sys::path::append(joined, absolute);
    absolute = joined;
  }
  llvm::sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
  return std::string(absolute);
}

}  // namespace

std::string real_cuda_path(const std::string& path, const std::vector<std::string>& cuda_dirs) {
  if (!below(path, k_cuda_dir)) return path;
  for (const std::string& dir : cuda_dirs) {
    std::string real = dir + path.substr(sizeof k_cuda_dir - 1);
    struct stat st{};
    if (::stat(real.c_str(), &st) == 0) return real;
  }
  return path;
}

void SourceFileSystem::add_text(const std::string& path, llvm::StringRef text,
                                std::optional<llvm::StringRef> original) {
  m_texts[normal(path)] = text;
  if (original && *original != text) m_originals.try_emplace(normal(path), *original);
}

void SourceFileSystem::insert(const std::string& name, const std::map<size_t, std::string>& texts) {
  const std::string path = normal(name);
  const llvm::StringRef served = find(path).content;
  std::string amended = served.str();
  for (auto one = texts.rbegin(); one != texts.rend(); ++one)
    if (one->first <= amended.size()) amended.insert(one->first, one->second);
  add_text(path, m_amended.emplace_back(std::move(amended)), served);
}

void SourceFileSystem::remove_text(const std::string& path) {
  m_texts.erase(normal(path));
  m_originals.erase(normal(path));
}

void SourceFileSystem::allow_root(const std::string& dir) {
  m_roots.push_back(normal(dir));
}

bool SourceFileSystem::allowed(llvm::StringRef path) const {
  for (const std::string& root : m_roots)
    if (below(path, root)) return true;
  return m_named.contains(path);
}

// A file on disk was put where it is by whoever wrote its includes: they may lead out of the roots, as they
// may with every other compiler. A text of the request may not: it could come from anywhere, and an error
// would quote what it includes.
void SourceFileSystem::allow_named_by(const std::string& path, llvm::StringRef content) {
  const bool inside = llvm::any_of(m_roots, [&](const std::string& root) { return below(path, root); });
  any_include(content, [&](std::string_view name, bool is_angled) {
    // What lies below the roots may be read already.
    if (is_angled || name.starts_with("/") || (inside && name.find("..") == name.npos)) return false;
    const std::string target =
        normal(llvm::sys::path::parent_path(path) + "/" + llvm::StringRef(name.data(), name.size()));
    if (allowed(target)) return false;
    m_named.insert(target);
    FilesBeyond::note(target, path);
    return false;
  });
}

std::vector<Dependency> SourceFileSystem::dependencies() const {
  std::vector<Dependency> all;
  for (const auto& [path, dependency] : m_dependencies) all.push_back(dependency);
  return all;
}

void SourceFileSystem::inherit(const std::vector<Dependency>& read_earlier) {
  for (const Dependency& dependency : read_earlier)
    m_dependencies.insert_or_assign(dependency.path, dependency);
}

bool SourceFileSystem::reaches(const std::vector<Dependency>& all) const {
  return llvm::all_of(all, [&](const Dependency& one) {
    const auto holds = [&](const std::string& root) { return below(one.path, root); };
    return one.absent || llvm::any_of(m_roots, holds) || llvm::any_of(m_cuda_dirs, holds);
  });
}

void SourceFileSystem::find_again(const std::vector<Dependency>& of_prelude) {
  if (reaches(of_prelude)) return;
  for (size_t known = 0, before = 1; known != before;) {
    before = m_real.size();
    for (const Dependency& one : of_prelude)
      if (!one.absent && allowed(one.path)) find(one.path);
    known = m_real.size();
  }
}

SourceFileSystem::Found SourceFileSystem::find(llvm::StringRef path) {
  Found found;
  if (auto text = m_texts.find(path); text != m_texts.end()) {
    found.kind = Found::text;
    found.content = text->second;
    return found;
  }
  if (below(path, k_cuda_dir)) {
    for (const std::string& dir : m_cuda_dirs) {
      found = find_real(dir + path.drop_front(sizeof k_cuda_dir - 1).str(), /*users=*/false);
      if (found.kind != Found::none) return found;
    }
    return found;
  }
  if (below(path, "/tarsia")) {
    if (auto content = m_pack->find({path.data(), path.size()})) {
      found.kind = Found::text;
      found.content = {content->data(), content->size()};
    } else {
      auto next = m_texts.lower_bound(path);
      if ((next != m_texts.end() && below(next->first, path)) ||
          m_pack->is_directory({path.data(), path.size()}))
        found.kind = Found::dir;
    }
    return found;
  }
  if (!allowed(path)) {
    for (const std::string& root : m_roots)
      if (below(root, path)) found.kind = Found::dir;
    for (auto next = m_named.lower_bound(path); next != m_named.end() && next->starts_with(path.str());
         ++next)
      if (below(*next, path)) found.kind = Found::dir;
    return found;
  }
  return find_real(path.str(), /*users=*/true);
}

SourceFileSystem::Found SourceFileSystem::find_real(const std::string& name, bool users) {
  Found found;
  struct stat st{};
  if (::stat(name.c_str(), &st) == 0) {
    if (S_ISDIR(st.st_mode)) found.kind = Found::dir;
    if (S_ISREG(st.st_mode)) {
      auto known = m_real.find(name);
      if (known == m_real.end()) {
        std::string content;
        FileStamp stamp;
        if (read_stamped(name, k_largest_header, content, stamp) != 0) return found;
        m_dependencies.insert_or_assign(name, Dependency{name, hash_bytes(content), false, stamp});
        if (users && m_edit) {
          std::string original = content;
          m_edit(content);
          if (original != content)
            m_originals[name] = m_real_originals.emplace(name, std::move(original)).first->second;
        }
        if (users) allow_named_by(name, content);
        known = m_real.emplace(name, std::move(content)).first;
      }
      found.kind = Found::real;
      found.content = known->second;
    }
  }
  // A missing folder is a dependency, too: it might appear later, with headers that come first.
  if (found.kind == Found::none) m_dependencies.try_emplace(name, Dependency{name, {}, true});
  return found;
}

// Which root a path was searched in, its text tells until the ".." are gone. Where both lie in one more root,
// the way from one to the other is the same at all places that have these roots (cache/place.h).
std::string SourceFileSystem::normal_noting(const llvm::Twine& twine) {
  std::string path = normal(twine);
  llvm::SmallString<256> room;
  const llvm::StringRef asked = twine.toStringRef(room);
  if (!asked.contains("/..")) return path;
  for (const std::string& root : m_roots) {
    if (!below(asked, root) || below(path, root)) continue;
    const auto holds_both = [&](const std::string& r) { return below(root, r) && below(path, r); };
    if (llvm::none_of(m_roots, holds_both)) note_climb();
  }
  return path;
}

void SourceFileSystem::note_climb() {
  m_dependencies.try_emplace(k_climbed, Dependency{k_climbed, {}, true});
}

void SourceFileSystem::note_name(llvm::StringRef name) {
  if (!name.starts_with("/")) return;
  const std::string path = normal(name);
  if (llvm::any_of(m_roots, [&](const std::string& root) { return below(path, root); })) note_climb();
}

llvm::ErrorOr<llvm::vfs::Status> SourceFileSystem::status(const llvm::Twine& twine) {
  std::string path = normal_noting(twine);
  Found found = find(path);
  llvm::SmallString<256> asked;
  twine.toVector(asked);
  if (found.kind == Found::none) return std::make_error_code(std::errc::no_such_file_or_directory);
  auto type = found.kind == Found::dir ? file_type::directory_file : file_type::regular_file;
  auto status = make_status(path, found.content.size(), type);
  return llvm::vfs::Status::copyWithNewName(status, asked);
}

llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> SourceFileSystem::openFileForRead(const llvm::Twine& path) {
  return open(path, /*as_it_is=*/false);
}

llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> SourceFileSystem::open_as_it_is(const llvm::Twine& path) {
  return open(path, /*as_it_is=*/true);
}

bool SourceFileSystem::is_edited(const llvm::Twine& path) const {
  return m_originals.contains(normal(path));
}

llvm::ErrorOr<std::unique_ptr<llvm::vfs::File>> SourceFileSystem::open(const llvm::Twine& twine,
                                                                       bool as_it_is) {
  std::string path = normal_noting(twine);
  Found found = find(path);
  if (auto original = m_originals.find(path); as_it_is && original != m_originals.end())
    found.content = original->second;
  if (found.kind == Found::none) return std::make_error_code(std::errc::no_such_file_or_directory);
  if (found.kind == Found::dir) return std::make_error_code(std::errc::is_a_directory);
  llvm::SmallString<256> asked;
  twine.toVector(asked);
  auto status = make_status(path, found.content.size(), file_type::regular_file);
  return std::make_unique<TextFile>(llvm::vfs::Status::copyWithNewName(status, asked), found.content);
}

// Clang lists folders where a header's name is completed. For a compile it does only for module maps and
// framework headers, and neither is in use.
llvm::vfs::directory_iterator SourceFileSystem::dir_begin(const llvm::Twine& twine, std::error_code& ec) {
  const std::string dir = normal(twine);
  std::map<std::string, file_type> entries;
  const auto add = [&](llvm::StringRef path) {  // of a file below
    const auto [name, rest] = path.drop_front(dir.size() + 1).split('/');
    entries.emplace(dir + "/" + name.str(),
                    rest.empty() ? file_type::regular_file : file_type::directory_file);
  };
  const auto add_real = [&](const std::string& real) {
    std::error_code end;
    for (llvm::sys::fs::directory_iterator at(real, end), last; at != last && !end; at.increment(end))
      entries.emplace(dir + "/" + llvm::sys::path::filename(at->path()).str(), at->type());
  };
  for (auto next = m_texts.lower_bound(dir); next != m_texts.end() && next->first.starts_with(dir); ++next)
    if (below(next->first, dir) && next->first.size() > dir.size()) add(next->first);
  if (below(dir, k_cuda_dir)) {
    for (const std::string& real : m_cuda_dirs) add_real(real + dir.substr(sizeof k_cuda_dir - 1));
  } else if (below(dir, "/tarsia")) {
    for (std::size_t i = m_pack->lower_bound(dir + "/");
         i < m_pack->size() && m_pack->file(i).path.starts_with(dir + "/"); ++i)
      add(m_pack->file(i).path);
  } else if (allowed(dir)) {
    add_real(dir);
  }
  ec = entries.empty() ? std::make_error_code(std::errc::no_such_file_or_directory) : std::error_code();
  if (entries.empty()) return {};
  return llvm::vfs::directory_iterator(std::make_shared<Listing>(std::move(entries)));
}

std::error_code SourceFileSystem::getRealPath(const llvm::Twine& twine, llvm::SmallVectorImpl<char>& out) {
  std::string path = normal(twine);
  out.assign(path.begin(), path.end());
  return {};
}

}  // namespace tarsia::jit
