// Paths from the environment and from where this library lies.
#include "base/paths.h"

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
    // A program's own name may be relative, and is whatever its parent called it.
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

/// Whether it is no link and nobody else can have written it.
bool is_trusted(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && !S_ISLNK(status.st_mode) && distrust(path, status).empty();
}

/// The unpacked worker is named by the packed one's stamp. Empty when the folder cannot take it.
std::string unpack_into(const std::string& cache_dir, const std::string& packed_path,
                        const FileStamp& stamp) {
  const Digest name = Hasher("unpacked compiler")
                          .field(stamp.device)
                          .field(stamp.inode)
                          .field(stamp.size)
                          .field(static_cast<std::uint64_t>(stamp.mtime_ns))
                          .field(static_cast<std::uint64_t>(stamp.ctime_ns))
                          .finish();
  const std::string folder = cache_dir + "/compiler";
  const std::string path = folder + "/tarsia-compiler-" + hex(name).substr(0, 16);
  if (is_executable(path) && is_trusted(folder) && is_trusted(path)) return path;
  if (make_directories(folder) != 0 || !is_trusted(folder)) return {};
  const std::string program = decompress(read_file(packed_path, k_max_compiler), packed_path);
  const std::string_view pieces[] = {program};
  if (publish(path, pieces, 0700) != 0) return {};
  // A folder mounted noexec takes the file and yet cannot run it.
  return is_executable(path) ? path : std::string();
}

/// Kept in memory, for as long as this process lives.
std::string unpack_into_memory(const std::string& packed_path) {
  static std::atomic<UniqueFd*> s_program{nullptr};
  const UniqueFd& program = made_once(s_program, [&] {
    return make_memfd("tarsia-compiler", decompress(read_file(packed_path, k_max_compiler), packed_path));
  });
  return "/proc/self/fd/" + std::to_string(program.get());
}

/// Held while the compiler is unpacked, so that threads that come at once do so once. That takes a while, and
/// two processes may do it at once: a forked child need not wait.
ForkRenewedMutex& g_unpacking = *new ForkRenewedMutex;

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

}  // namespace tarsia
