// Finds paths from the environment and from the place of this library.
#include "base/paths.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/fork.h"
#include "base/hash.h"

namespace tarsia {
namespace {

constexpr std::uint64_t k_max_compiler = std::uint64_t{1} << 30;

bool is_executable(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string find_library_dir() {
  const InLoader in_loader;
  Dl_info info;
  std::string path;
  if (::dladdr(reinterpret_cast<const void*>(&library_dir), &info) != 0 && info.dli_fname != nullptr) {
    char resolved[PATH_MAX];
    // A program's own name may be relative. Its parent chooses it.
    if (::realpath(info.dli_fname, resolved) != nullptr) path = resolved;
  }
  if (path.empty()) {
    char target[PATH_MAX];
    const ssize_t n = ::readlink("/proc/self/exe", target, sizeof target);
    if (n > 0) path.assign(target, static_cast<std::size_t>(n));
  }
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

std::string decompress(const std::string& packed, const std::string& path) {
  const std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  if (!context) throw Error("cannot unpack " + path + ": out of memory");
  std::string bytes;
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  std::vector<char> chunk(ZSTD_DStreamOutSize());
  std::size_t left = 1;
  while (in.pos < in.size) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    left = ZSTD_decompressStream(context.get(), &out, &in);
    if (ZSTD_isError(left)) throw Error("cannot unpack " + path + ": " + ZSTD_getErrorName(left));
    bytes.append(chunk.data(), out.pos);
    if (bytes.size() > k_max_compiler) throw Error("cannot unpack " + path + ": it is too large");
  }
  if (left != 0) throw Error("cannot unpack " + path + ": the file is cut short");
  return bytes;
}

/// Whether the path is no link and nobody else can have written the file.
bool is_trusted(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && !S_ISLNK(status.st_mode) && distrust(path, status).empty();
}

/// The packed worker's stamp names the unpacked one.
std::string unpacked_path(const std::string& cache_dir, const FileStamp& stamp) {
  const Digest name = Hasher("unpacked compiler")
                          .field(stamp.device)
                          .field(stamp.inode)
                          .field(stamp.size)
                          .field(static_cast<std::uint64_t>(stamp.mtime_ns))
                          .field(static_cast<std::uint64_t>(stamp.ctime_ns))
                          .finish();
  return cache_dir + "/compiler/tarsia-compiler-" + hex(name).substr(0, 16);
}

/// Whether the unpacked worker is there, and nobody else can have written it.
bool is_unpacked(const std::string& path) {
  return is_executable(path) && is_trusted(path.substr(0, path.rfind('/'))) && is_trusted(path);
}

/// Empty if the folder cannot take it.
std::string unpack_into(const std::string& cache_dir, const std::string& packed_path,
                        const FileStamp& stamp) {
  const std::string path = unpacked_path(cache_dir, stamp);
  if (is_unpacked(path)) return path;
  const std::string folder = path.substr(0, path.rfind('/'));
  if (make_directories(folder) != 0 || !is_trusted(folder)) return {};
  const std::string program = decompress(read_file(packed_path, k_max_compiler), packed_path);
  const std::string_view pieces[] = {program};
  if (publish(path, pieces, 0700) != 0) return {};
  // A folder mounted noexec takes the file but cannot run it.
  return is_executable(path) ? path : std::string();
}

/// The worker that was unpacked into memory, kept as long as this process lives.
std::atomic<UniqueFd*> g_in_memory{nullptr};

std::string path_in_memory(const UniqueFd& program) {
  return "/proc/self/fd/" + std::to_string(program.get());
}

std::string unpack_into_memory(const std::string& packed_path) {
  return path_in_memory(made_once(g_in_memory, [&] {
    return make_memfd("tarsia-compiler", decompress(read_file(packed_path, k_max_compiler), packed_path));
  }));
}

/// Held while the compiler is unpacked, so that of several threads only one does it. Unpacking takes a
/// while, and two processes may do it at once. So a forked child need not wait.
ForkRenewedMutex& g_unpacking = *new ForkRenewedMutex;

bool is_file(const std::string& path) {
  struct stat status;
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

const std::string& library_dir() {
  static std::atomic<std::string*> s_dir{nullptr};
  return made_once(s_dir, &find_library_dir);
}

std::string compiler_path(const std::string& cache_dir, const std::string& folder) {
  const char* named = std::getenv("TARSIA_COMPILER");
  if (named != nullptr && *named != '\0') {
    if (!is_executable(named)) {
      throw NotFound(std::string("TARSIA_COMPILER names ") + named +
                     ", which is no program that can be run: correct it or unset it");
    }
    return named;
  }
  const std::string plain = folder + "/tarsia-compiler";
  if (is_executable(plain)) return plain;
  const std::string packed = plain + ".zst";
  struct stat status;
  if (::stat(packed.c_str(), &status) == 0) {
    const std::lock_guard lock(g_unpacking);
    std::string path;
    if (!cache_dir.empty()) path = unpack_into(cache_dir, packed, FileStamp::of(status));
    return path.empty() ? unpack_into_memory(packed) : path;
  }
  throw NotFound("the compiler tarsia-compiler is missing from " + folder +
                 ": install Tarsia again, or set TARSIA_COMPILER to its path");
}

std::string ready_compiler_path(const std::string& cache_dir, const std::string& folder) noexcept {
  try {
    const char* named = std::getenv("TARSIA_COMPILER");
    if (named != nullptr && *named != '\0') return is_executable(named) ? named : "";
    const std::string plain = folder + "/tarsia-compiler";
    if (is_executable(plain)) return plain;
    struct stat status;
    if (!cache_dir.empty() && ::stat((plain + ".zst").c_str(), &status) == 0)
      if (const std::string path = unpacked_path(cache_dir, FileStamp::of(status)); is_unpacked(path))
        return path;
    if (const UniqueFd* program = g_in_memory) return path_in_memory(*program);
  } catch (const std::bad_alloc&) {  // then there is none
  }
  return {};
}

std::string cache_dir_name() {
  const auto absolute = [](const char* text) { return text != nullptr && *text == '/'; };
  const char* own = std::getenv("TARSIA_CACHE_DIR");
  if (own != nullptr && *own != '\0') {
    if (*own == '/') return own;
    char here[PATH_MAX];
    if (::getcwd(here, sizeof here) == nullptr) return {};
    return std::string(here) + '/' + own;
  }
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); absolute(xdg)) return std::string(xdg) + "/tarsia";
  if (const char* home = std::getenv("HOME"); absolute(home)) return std::string(home) + "/.cache/tarsia";
  passwd entry;
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
      absolute(found->pw_dir)) {
    return std::string(found->pw_dir) + "/.cache/tarsia";
  }
  return {};
}

std::string distrust(const std::string& path, const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return "it belongs to another user (" + std::to_string(status.st_uid) +
           "), who could plant code in it; chown it";
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "others may write to it and plant code in it; run chmod go-w " + path;
  return {};
}

std::string prepare_private_dir(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return "the cache folder " + path + " is not used: " + why + ", or set TARSIA_CACHE_DIR to another one";
  };
  if (path.empty()) {
    return "no cache folder is known: set TARSIA_CACHE_DIR to one that is yours";
  }
  if (const int error = make_directories(path)) {
    return refuse(errno_message("it cannot be made", error) + "; make it yourself");
  }
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return refuse(errno_message("it cannot be read", errno));
  const std::string why = distrust(path, status);
  return why.empty() ? why : refuse(why);
}

std::vector<std::string> llvm_folders() {
  std::vector<std::string> folders;
  if (DIR* stream = open_folder("/usr/lib")) {
    while (dirent* entry = ::readdir(stream))
      if (std::string_view(entry->d_name).starts_with("llvm-"))
        folders.push_back(std::string("/usr/lib/") + entry->d_name + "/lib");
    ::closedir(stream);
  }
  std::sort(folders.begin(), folders.end(), [](const std::string& a, const std::string& b) {
    return ::strverscmp(a.c_str(), b.c_str()) > 0;
  });
  return folders;
}

std::vector<std::string> openmp_libraries(const std::string& folder) {
  std::vector<std::string> folders{folder};
  if (const char* conda = std::getenv("CONDA_PREFIX"); conda && *conda)
    folders.push_back(std::string(conda) + "/lib");
  folders.insert(folders.end(), {"/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/lib/x86_64-linux-gnu",
                                 "/usr/lib64", "/usr/lib"});
  for (std::string& one : llvm_folders()) folders.push_back(std::move(one));
  std::vector<std::string> found;
  for (const std::string& one : folders)
    for (const char* name : {"/libomp.so.5", "/libomp.so"})
      if (is_file(one + name)) {
        found.push_back(one + name);
        break;
      }
  return found;
}

bool is_openmp_library(std::string_view name) {
  return name == "libomp.so" || name.starts_with("libomp.so.");
}

}  // namespace tarsia
