// The key of an entry.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/hash.h"

namespace tarsia::cache {

using Key = Digest;

/// What sort of thing an entry is. The numbers are on disk.
enum class Kind : std::uint32_t {
  module = 1,    ///< a shared library
  manifest = 2,  ///< which headers led to which module
  prelude = 3,   ///< parts of a compile: a precompiled prelude, …
  device = 4,    ///< … device code, …
  host = 5,      ///< … an object of host code
  fact = 6,      ///< a fact about this machine
  inputs = 7,    ///< what the key of a request is made of, for people
  shared = 8,    ///< a manifest for every place: files by names (cache/place.h), no stamps
};

/// The kind's folder in a store.
std::string_view kind_name(Kind kind);

}  // namespace tarsia::cache
