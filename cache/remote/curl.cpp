// Opens libcurl. Both flavours of Debian's and those of other systems have the same name.
#include "cache/remote/curl.h"

#include <dlfcn.h>

#include <atomic>
#include <string>

#include "base/error.h"
#include "base/fork.h"

// The header makes macros of these that check types, where it can.
#undef curl_easy_setopt
#undef curl_easy_getinfo

namespace tarsia::cache {
namespace {

Curl open_curl() {
  const InLoader scope;
  void* library = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw NotFound(
        "a shared store with http:// needs libcurl.so.4 (apt install libcurl4, dnf install libcurl): " +
        std::string(::dlerror()));
  Curl made{};
  const auto take = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (!function) throw NotFound("libcurl.so.4 has no " + std::string(name) + ": install a newer one");
  };
  take(made.easy_init, "curl_easy_init");
  take(made.easy_reset, "curl_easy_reset");
  take(made.easy_cleanup, "curl_easy_cleanup");
  take(made.easy_perform, "curl_easy_perform");
  take(made.easy_setopt, "curl_easy_setopt");
  take(made.easy_getinfo, "curl_easy_getinfo");
  take(made.easy_strerror, "curl_easy_strerror");
  decltype(&::curl_global_init) global_init = nullptr;
  take(global_init, "curl_global_init");
  if (global_init(CURL_GLOBAL_ALL) != 0) throw NotFound("libcurl.so.4 cannot be initialised");
  return made;
}

}  // namespace

const Curl& curl() {
  static std::atomic<Curl*> s_curl{nullptr};
  return made_once(s_curl, open_curl);
}

}  // namespace tarsia::cache
