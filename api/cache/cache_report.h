// What the cache tells about itself, as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include "cache/tally.h"
#include "pipeline/entries.h"
#include "pipeline/explain.h"

namespace tarsia::api {

/// {"hits": {"memory": …}, "misses": {"absent": …}, "compiles": …, "compile_seconds": {"sum": …, "ranges":
/// [[most seconds, null for any, compiles], …]}}
nlohmann::json to_json(const cache::Counts& counts);
nlohmann::json to_json(const cache::Verified& verified);
/// `whole`: with all inputs, and all files by their state now; else their number.
nlohmann::json to_json(const pipeline::StoredEntry& entry, bool whole);
nlohmann::json to_json(const pipeline::Explanation& explanation);

}  // namespace tarsia::api
