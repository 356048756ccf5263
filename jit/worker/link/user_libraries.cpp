// Finds libraries and looks into linker scripts.
//
// A name like libm.so may be a short text, a linker script, that says which files to take. LLD would read
// it and the files that it names, and would not report them. If LLD does not understand a text, it quotes a
// line of it, even of a file that is no library at all. Scripts that are installed as libraries consist of
// few commands. They are resolved into files here.
#include "jit/worker/link/user_libraries.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>

#include "base/dependency.h"
#include "base/elf_file.h"
#include "base/error.h"
#include "base/machine/folders.h"
#include "base/machine/run_path.h"
#include "jit/readable.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Object/Archive.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace tarsia::jit {
namespace {

namespace fs = std::filesystem;

constexpr int k_deepest_script = 8;
constexpr size_t k_largest_script = 64 << 10;
constexpr std::uint64_t k_largest_file = std::uint64_t{4} << 30;

// libX.so, or the newest libX.so.N, or else libX.a, of a folder.
std::string find_in(const std::string& dir, const std::string& name) {
  std::error_code ec;
  fs::path plain = fs::path(dir) / ("lib" + name + ".so");
  if (fs::is_regular_file(plain, ec)) return plain;
  std::string best;
  for (const auto& entry : fs::directory_iterator(dir, ec)) {
    std::string file = entry.path().filename();
    if (file.rfind("lib" + name + ".so.", 0) == 0 &&
        (best.empty() || file.size() < fs::path(best).filename().string().size()))
      best = entry.path();
  }
  const fs::path archive = fs::path(dir) / ("lib" + name + ".a");
  return best.empty() && fs::is_regular_file(archive, ec) ? archive.string() : best;
}

/// The words and brackets of a linker script. False if a comment or a quote is left open.
bool split_words(std::string_view text, std::vector<std::string>& words) {
  constexpr std::string_view k_between = " \t\r\n,;";
  while (!text.empty()) {
    if (text.starts_with("/*")) {
      const size_t end = text.find("*/", 2);
      if (end == text.npos) return false;
      text.remove_prefix(end + 2);
    } else if (k_between.find(text[0]) != k_between.npos) {
      text.remove_prefix(1);
    } else if (text[0] == '(' || text[0] == ')') {
      words.emplace_back(1, text[0]);
      text.remove_prefix(1);
    } else if (text[0] == '"') {
      const size_t end = text.find('"', 1);
      if (end == text.npos) return false;
      words.emplace_back(text.substr(1, end - 1));
      text.remove_prefix(end + 1);
    } else {
      const size_t end = std::min(text.find_first_of(" \t\r\n,;()\""), text.size());
      words.emplace_back(text.substr(0, end));
      text.remove_prefix(end);
    }
  }
  return true;
}

/// Whether a shared library says by which name others need it.
bool has_soname(std::string_view bytes) {
  bool found = false;
  const ElfFile file(bytes);
  if (const Elf64_Shdr* const dynamic = file.section(SHT_DYNAMIC))
    file.for_each<Elf64_Dyn>(
        *dynamic, [&](const Elf64_Dyn& entry, std::uint64_t) { found |= entry.d_tag == DT_SONAME; });
  return found;
}

/// What is known of a file that was read: of a large one its kind is enough.
struct KnownFile {
  Dependency dependency;
  llvm::file_magic magic = llvm::file_magic::unknown;
  bool is_thin = false;     ///< an archive of names alone
  bool has_soname = false;  ///< a shared library that says by which name others need it
  std::string bytes;        ///< of a thin archive, and of what may be a linker script
};

/// Reads a file, or finds that it is still the one that was read before: PyTorch's libraries have half a
/// gigabyte. Null and an errno if it cannot be read.
const KnownFile* read_known(const std::string& path, int& error) {
  static auto& s_known = *new std::map<std::string, KnownFile>;  // of one thread: the one that links
  const auto found = s_known.find(path);
  FileStamp stamp;
  if (found != s_known.end()) {
    const DependencyState state = check(found->second.dependency, stamp);
    if (state == DependencyState::vouched) found->second.dependency.stamp = stamp;
    if (state != DependencyState::changed) return &found->second;
  }
  KnownFile file;
  if ((error = read_stamped(path, k_largest_file, file.bytes, stamp)) != 0) return nullptr;
  file.dependency = {path, hash_bytes(file.bytes), false, stamp};
  file.magic = llvm::identify_magic(file.bytes);
  file.is_thin = file.bytes.starts_with("!<thin>");
  try {
    file.has_soname = file.magic == llvm::file_magic::elf_shared_object && has_soname(file.bytes);
  } catch (const DamagedElf&) {
    file.has_soname = true;  // LLD says what is wrong with it
  }
  if (!file.is_thin && (file.magic != llvm::file_magic::unknown || file.bytes.size() > k_largest_script))
    file.bytes = std::string();
  return &(s_known[path] = std::move(file));
}

std::string plain_folder(const std::string& path) {
  return (fs::path(path) / "").lexically_normal();
}

class Finder {
 public:
  explicit Finder(const CompileRequest& request) : m_dirs(request.options.library_dirs) {
    const auto& of_cuda = request.cuda_parts.library_dirs;
    m_dirs.insert(m_dirs.end(), of_cuda.begin(), of_cuda.end());
    m_dirs.insert(m_dirs.end(), std::begin(k_machine_library_dirs), std::end(k_machine_library_dirs));
    for (const std::string& dir : library_folders(request).all()) m_of_loader.insert(plain_folder(dir));
    for (const char* dir : k_machine_library_dirs) m_of_loader.erase(plain_folder(dir));
  }

  UserLibraries run(const std::vector<std::string>& libraries) {
    for (const std::string& library : libraries) {
      if (library == "cuda") continue;  // the driver: driver_stubs.h
      m_library = library;
      const std::string path = library.find('/') != library.npos ? library : search(library);
      if (path.empty() || !is_regular(path))
        refuse("library '" + library + "' was not found; give its folder in `library_dirs` or its path");
      else
        take(path, 0);
      if (m_found.refused) break;
    }
    if (m_is_for_loader) add({"-rpath", unknown_run_path()});
    return std::move(m_found);
  }

 private:
  static bool is_regular(const std::string& path) {
    std::error_code ec;
    return fs::is_regular_file(path, ec);
  }

  // What would have been found before it is noted as absent.
  std::string search(const std::string& name) {
    const std::string plain = "lib" + name + ".so";
    for (std::size_t i = 0; i < m_dirs.size(); ++i) {
      const std::string path = find_in(m_dirs[i], name);
      if (path.empty()) continue;
      const std::string file = fs::path(path).filename();
      for (std::size_t k = 0; k < i; ++k) {
        note_absent(fs::path(m_dirs[k]) / plain);
        if (file != plain) note_absent(fs::path(m_dirs[k]) / file);
      }
      if (file != plain) note_absent(fs::path(m_dirs[i]) / plain);
      return path;
    }
    return {};
  }
  void note_absent(const std::string& path) {
    m_found.dependencies.push_back({.path = path, .absent = true});
  }

  void refuse(std::string message) {
    if (!m_found.refused) m_found.refused = Diagnostic{.message = std::move(message)};
  }
  void refuse_file(const std::string& path, const std::string& why) {
    refuse("library '" + m_library + "': " + path + " " + why);
  }

  void add_run_path(const std::string& path) {
    const std::string dir = fs::path(path).parent_path();
    if (m_of_loader.contains(plain_folder(dir)))
      m_is_for_loader = true;
    else if (m_run_paths.insert(dir).second)
      add({"-rpath", dir});
  }

  void add(std::initializer_list<std::string> arguments) {
    m_found.arguments.insert(m_found.arguments.end(), arguments);
  }

  // A library without a name of its own is needed by the path that LLD gets, or by the name of its file if
  // LLD finds it in a folder.
  void add_shared(const std::string& path, bool has_soname) {
    const std::string dir = fs::path(path).parent_path(), file = fs::path(path).filename();
    if (has_soname || !m_of_loader.contains(plain_folder(dir)) ||
        m_nameless.try_emplace(file, dir).first->second != dir)
      return add({path});
    add({"-L" + dir, "-l:" + file});
  }

  // Reads a file and notes it. If that fails, reports an error and returns null.
  const KnownFile* read(const std::string& path) {
    int error = 0;
    const KnownFile* file = read_known(path, error);
    if (file)
      m_found.dependencies.push_back(file->dependency);
    else
      refuse_file(path, errno_message("cannot be read", error));
    return file;
  }

  // A file that LLD reads, or a script that names such files.
  void take(const std::string& path, int depth) {
    const KnownFile* file = read(path);
    if (!file) return;
    switch (file->magic) {
      case llvm::file_magic::elf_shared_object:
        add_run_path(path);
        return add_shared(path, file->has_soname);
      case llvm::file_magic::elf_relocatable:
        return add({path});
      case llvm::file_magic::archive:
        if (file->is_thin) note_members(path, file->bytes);
        return add({path});
      default:
        return take_script(path, file->bytes, depth);
    }
  }

  // A thin archive holds only the names of its objects.
  void note_members(const std::string& path, const std::string& bytes) {
    const auto refuse_it = [&](llvm::Error error) {
      llvm::consumeError(std::move(error));
      refuse_file(path, "is a damaged thin archive; make it anew");
    };
    auto archive = llvm::object::Archive::create({bytes, path});
    if (!archive) return refuse_it(archive.takeError());
    llvm::Error error = llvm::Error::success();
    for (const llvm::object::Archive::Child& member : (*archive)->children(error)) {
      llvm::Expected<std::string> name = member.getFullName();
      if (!name) {
        refuse_it(name.takeError());
        break;
      }
      if (!read(*name)) break;
    }
    if (error) refuse_it(std::move(error));
  }

  void take_script(const std::string& path, const std::string& text, int depth) {
    std::vector<std::string> words;
    constexpr const char* k_what =
        "is neither a shared library, an archive nor an object of ELF, nor a linker script of INPUT and "
        "GROUP "
        "alone";
    if (!split_words(text, words)) return refuse_file(path, k_what);
    if (depth == k_deepest_script) return refuse_file(path, "leads from linker script to linker script");
    bool any = false;
    for (size_t at = 0; at < words.size();) {
      const std::string command = words[at++];
      if (at == words.size() || words[at] != "(") return refuse_file(path, k_what);
      const size_t begin = ++at;
      for (int open = 1; open > 0; ++at) {
        if (at == words.size()) return refuse_file(path, k_what);
        open += words[at] == "(" ? 1 : words[at] == ")" ? -1 : 0;
      }
      if (command == "OUTPUT_FORMAT" || command == "OUTPUT_ARCH") continue;
      if (command != "GROUP" && command != "INPUT") return refuse_file(path, k_what);
      any = true;  // LLD searches archives again as long as they help: to it a group is its files
      if (!take_words(path, {words.begin() + begin, words.begin() + at - 1}, depth))
        return refuse_file(path, k_what);
    }
    if (!any) refuse_file(path, k_what);
  }

  // The content of the brackets of GROUP or INPUT. False if it holds more than files and AS_NEEDED.
  bool take_words(const std::string& script, const std::vector<std::string>& words, int depth) {
    bool as_needed = false;
    for (size_t i = 0; i < words.size(); ++i) {
      if (words[i] == "AS_NEEDED" && !as_needed && i + 1 < words.size() && words[i + 1] == "(") {
        as_needed = true;
        add({"--push-state", "--as-needed"});
        ++i;
      } else if (words[i] == ")" && as_needed) {
        as_needed = false;
        add({"--pop-state"});
      } else if (words[i] == "(" || words[i] == ")") {
        return false;
      } else {
        take_named(script, words[i], depth);
        if (m_found.refused) return true;
      }
    }
    return !as_needed;
  }

  void take_named(const std::string& script, const std::string& name, int depth) {
    std::string path;
    if (name.starts_with("-l")) {
      path = search(name.substr(2));
    } else if (name.starts_with('/')) {
      path = name;
    } else {
      path = fs::path(script).parent_path() / name;
      for (size_t i = 0; !is_regular(path) && i < m_dirs.size(); ++i) path = fs::path(m_dirs[i]) / name;
    }
    if (path.empty() || !is_regular(path))
      refuse_file(script, "is a linker script that leads to a file that is not there");
    else
      take(path, depth + 1);
  }

  std::vector<std::string> m_dirs;
  std::string m_library;  // the user's name of the library that is read
  std::set<std::string> m_run_paths;
  std::set<std::string> m_of_loader;              // the folders that Tarsia's loader is told
  std::map<std::string, std::string> m_nameless;  // the folders of libraries without a soname, by file
  bool m_is_for_loader = false;                   // whether a library lies in one of them
  UserLibraries m_found;
};

}  // namespace

UserLibraries find_user_libraries(const CompileRequest& request) {
  return Finder(request).run(request.options.libraries);
}

}  // namespace tarsia::jit
