// Keeps a module as a compile does, for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "cache/module_cache.h"

namespace tarsia::cache {

inline CachedModule keep(ModuleCache& cache, const Request& request, std::string bytes, std::string meta,
                         std::vector<Dependency> dependencies) {
  const auto made = new_module(request, bytes, std::move(meta), std::move(dependencies));
  EXPECT_TRUE(made);
  return cache.keep(request, made.value());
}

}  // namespace tarsia::cache
