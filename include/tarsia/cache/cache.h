// The cache of compiled modules, for programs: what became of their requests.
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

}  // namespace tarsia
