// The modules that a store holds, with what belongs to each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/dependency.h"
#include "cache/disk_store.h"
#include "cache/inventory.h"
#include "pipeline/inputs.h"

namespace tarsia::pipeline {

struct StoredEntry {
  cache::Key module_key{};
  std::string path;
  std::uint64_t bytes = 0;            ///< on disk
  std::int64_t used = 0;              ///< seconds of the epoch, to within ten minutes
  std::optional<cache::Key> request;  ///< of the request that led to it; nothing if that is not kept any more
  std::optional<Inputs> inputs;
  std::vector<Dependency> files;  ///< that it was compiled from and that lie outside of the request
};

/// All modules, the one that was used last first. Reads every manifest and all inputs.
std::vector<StoredEntry> list_entries(cache::DiskStore& store);

/// Checks every entry of a store, and whether what they contain follows its grammar.
cache::Verified verify_entries(const cache::DiskStore& store, bool remove);

}  // namespace tarsia::pipeline
