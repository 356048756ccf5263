// Why a source hits or misses: its request against the store, input by input.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cache/disk_store.h"
#include "cache/key.h"
#include "cache/keys.h"
#include "jit/compile.h"
#include "pipeline/inputs.h"

namespace tarsia::pipeline {

/// An input that is not what it was.
struct Difference {
  std::string
      input;  ///< "option opt", "file op.cu", or the name of a file that the compiler read (cache/place.h)
  std::string how;  ///< "it was 2, and is 3", "its content changed: …"
};

/// The entry of a module.
struct EntryOf {
  cache::Key module_key{};
  std::optional<Inputs> inputs;  ///< nothing: they are not kept any more
};

struct Explanation {
  cache::Key request_key{};
  bool hit = false;
  /// "changed", "gone", "damaged", "revoked", "fault", "absent", or "not kept": its text asks for the time.
  /// Empty: a hit.
  std::string reason;
  std::optional<EntryOf> nearest;  ///< the entry that it hits, or the nearest one
  std::uint64_t n_files = 0;       ///< that the nearest was compiled from and that lie outside of the request
  std::vector<Difference> differences;
  std::vector<std::pair<std::string, std::string>>
      roots;  ///< what the names of files begin with, and its path
};

/// Reads the store, and the files that the nearest entry was compiled from. Goes through all entries if none
/// has the request's key. Modules that a revoked key signed are none.
Explanation explain(const jit::CompileRequest& request, cache::DiskStore& store,
                    const std::set<cache::KeyId>& revoked = {});

/// What differs between a request and the nearest of these serialised inputs of requests; nothing if all of
/// them are of other sources.
std::vector<Difference> differences_from_nearest(const std::vector<std::pair<cache::Key, std::string>>& all,
                                                 const Inputs& now);

}  // namespace tarsia::pipeline
