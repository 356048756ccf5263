// The cache's folder by the environment, for what does not go through the pipeline.
#pragma once

#include <string>

#include "base/paths.h"

namespace tarsia::api {

/// Empty if it is not known, or must not be used.
inline std::string usable_cache_dir() {
  std::string dir = cache_dir_name();
  if (!dir.empty() && !prepare_private_dir(dir).empty()) dir.clear();
  return dir;
}

}  // namespace tarsia::api
