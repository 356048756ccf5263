// The store of measured choices: facts in the cache.
#pragma once

#include "registry/measure/measured_times.h"

namespace tarsia::pipeline {

/// In the folder that the environment names at the time. Thread-safe.
class CachedTimes final : public registry::TimesStore {
 public:
  std::optional<std::string> find(const Digest& key) override;
  void keep(const Digest& key, const std::string& text) override;
};

}  // namespace tarsia::pipeline
