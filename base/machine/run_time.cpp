// Asks the loader which libraries this process runs on, as the worker does, which runs on the same ones.
#include "base/machine/run_time.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>

#include <atomic>
#include <climits>
#include <cstdlib>

#include "base/fork.h"

namespace tarsia {
namespace {

/// "6.0.30" of /usr/lib/…/libstdc++.so.6.0.30; "6" where the file's name says no more.
std::string libstdcxx_version() {
  void* handle = ::dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return "unknown";
  std::string version = "6";
  link_map* map = nullptr;
  char real[PATH_MAX];
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && ::realpath(map->l_name, real)) {
    const std::string path = real;
    if (const std::size_t so = path.rfind(".so."); so != path.npos) version = path.substr(so + 4);
  }
  ::dlclose(handle);
  return version;
}

}  // namespace

const std::string& run_time_identity() {
  static std::atomic<std::string*> s_identity{nullptr};
  return made_once(s_identity, [] {
    return "glibc " + std::string(::gnu_get_libc_version()) + ", libstdc++ " + libstdcxx_version();
  });
}

}  // namespace tarsia
