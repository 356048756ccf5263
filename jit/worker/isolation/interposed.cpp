// The C library's functions that open files, for this program and the libraries that it opens: where the
// kernel refuses, the client is asked. (The C library itself, and with it dlopen, does not come through
// here.)
#include <dirent.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "jit/worker/isolation/files_beyond.h"

// The names' own declarations differ from header to header, by what a build defines.
#define TARSIA_INSTEAD_OF(name) __asm__(name) __attribute__((visibility("default")))

extern "C" {
int tarsia_open(const char* path, int flags, ...) TARSIA_INSTEAD_OF("open");
int tarsia_open64(const char* path, int flags, ...) TARSIA_INSTEAD_OF("open64");
int tarsia_openat(int folder, const char* path, int flags, ...) TARSIA_INSTEAD_OF("openat");
int tarsia_openat64(int folder, const char* path, int flags, ...) TARSIA_INSTEAD_OF("openat64");
FILE* tarsia_fopen(const char* path, const char* mode) TARSIA_INSTEAD_OF("fopen");
FILE* tarsia_fopen64(const char* path, const char* mode) TARSIA_INSTEAD_OF("fopen64");
DIR* tarsia_opendir(const char* path) TARSIA_INSTEAD_OF("opendir");
}

namespace {

// From fcntl.h, which declares open().
constexpr int k_access_mode = 3, k_create = 0100, k_directory = 0200000;
constexpr int k_temporary = 020000000 | k_directory, k_path_only = 010000000;
constexpr int k_here = -100;

int open_or_ask(int folder, const char* path, int flags, unsigned mode) {
  const long fd = ::syscall(SYS_openat, folder, path, flags, mode);
  if (fd >= 0 || errno != EACCES || (flags & k_access_mode) != 0 || (flags & (k_create | k_path_only)) != 0)
    return static_cast<int>(fd);
  tarsia::UniqueFd found = tarsia::jit::open_beyond(path, (flags & k_directory) != 0);
  if (!found) errno = EACCES;
  return found.release();
}

using Fopen = FILE*(const char*, const char*);

FILE* fopen_or_ask(Fopen* of_library, const char* path, const char* mode) {
  FILE* file = of_library(path, mode);
  if (file != nullptr || errno != EACCES || mode[0] != 'r') return file;
  for (const char* at = mode; *at != '\0'; ++at)
    if (*at == '+') return nullptr;
  tarsia::UniqueFd found = tarsia::jit::open_beyond(path, false);
  if (found) file = ::fdopen(found.get(), mode);
  if (file != nullptr)
    found.release();
  else
    errno = EACCES;
  return file;
}

}  // namespace

#define TARSIA_MODE_OF(flags)                                                \
  unsigned mode = 0;                                                         \
  if (((flags) & k_create) != 0 || ((flags) & k_temporary) == k_temporary) { \
    va_list arguments;                                                       \
    va_start(arguments, flags);                                              \
    mode = va_arg(arguments, unsigned);                                      \
    va_end(arguments);                                                       \
  }

int tarsia_open(const char* path, int flags, ...) {
  TARSIA_MODE_OF(flags)
  return open_or_ask(k_here, path, flags, mode);
}
int tarsia_open64(const char* path, int flags, ...) {
  TARSIA_MODE_OF(flags)
  return open_or_ask(k_here, path, flags, mode);
}
int tarsia_openat(int folder, const char* path, int flags, ...) {
  TARSIA_MODE_OF(flags)
  return open_or_ask(folder, path, flags, mode);
}
int tarsia_openat64(int folder, const char* path, int flags, ...) {
  TARSIA_MODE_OF(flags)
  return open_or_ask(folder, path, flags, mode);
}
FILE* tarsia_fopen(const char* path, const char* mode) {
  static const auto s_of_library = reinterpret_cast<Fopen*>(::dlsym(RTLD_NEXT, "fopen"));
  return fopen_or_ask(s_of_library, path, mode);
}
FILE* tarsia_fopen64(const char* path, const char* mode) {
  static const auto s_of_library = reinterpret_cast<Fopen*>(::dlsym(RTLD_NEXT, "fopen64"));
  return fopen_or_ask(s_of_library, path, mode);
}

DIR* tarsia_opendir(const char* path) {
  using Function = DIR*(const char*);
  static const auto s_of_library = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, "opendir"));
  DIR* folder = s_of_library(path);
  if (folder != nullptr || errno != EACCES) return folder;
  tarsia::UniqueFd found = tarsia::jit::open_beyond(path, true);
  if (found) folder = ::fdopendir(found.get());
  if (folder != nullptr)
    found.release();
  else
    errno = EACCES;
  return folder;
}
