// The cache of compiled modules, for programs: what became of their requests, and where none may be compiled.
#pragma once

#include <tarsia/c_api.h>
#include <tarsia/errors.h>

namespace tarsia {

/// What became of this process's requests for modules: hits by tier, misses by reason.
using CacheCounters = tarsia_cache_counters;

/// Returns the counters of the folder that the environment names now.
inline CacheCounters cache_counters() {
  CacheCounters counters{};
  counters.size = sizeof(counters);
  detail::check(tarsia_cache_get_counters(&counters));
  return counters;
}

/// While it lives, a source or kernel that this thread asks for and that is not in the cache is a
/// CompileForbidden at once, which says why it is not there. Scopes nest. Ends on the thread that it began
/// on.
class NoCompile {
 public:
  /// Begins it on this thread.
  NoCompile() { tarsia_no_compile_enter(); }
  ~NoCompile() { (void)tarsia_no_compile_leave(); }
  NoCompile(const NoCompile&) = delete;
  NoCompile& operator=(const NoCompile&) = delete;
};

}  // namespace tarsia
