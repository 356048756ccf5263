// Where a module came from.
#pragma once

namespace tarsia {

/// Compiled just now, taken from the cache's memory or disk, or from a shared store, or built ahead of time.
enum class Origin { compiled, memory, disk, prebuilt, remote };

/// "compiled", "memory", "disk", "prebuilt", "remote".
constexpr const char* origin_name(Origin origin) {
  switch (origin) {
    case Origin::compiled:
      return "compiled";
    case Origin::memory:
      return "memory";
    case Origin::disk:
      return "disk";
    case Origin::prebuilt:
      return "prebuilt";
    case Origin::remote:
      return "remote";
  }
  return "";
}

}  // namespace tarsia
