// The cache's figures as Prometheus's text.
#pragma once

#include <cstdint>
#include <string>

#include "cache/tally.h"

namespace tarsia::api {

/// What lies in the cache's folder.
struct FolderFigures {
  std::uint64_t modules, bytes, max_bytes;
};

/// The counters, and the times of compiles.
std::string to_prometheus(const cache::Counts& counts);
/// With them, what the folder holds.
std::string to_prometheus(const cache::Counts& counts, const FolderFigures& folder);

}  // namespace tarsia::api
