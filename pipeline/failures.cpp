// Keeps compile errors for a short time.
#include "pipeline/failures.h"

#include <algorithm>

namespace tarsia::pipeline {

void Failures::keep(const cache::Key& key, std::exception_ptr error, std::vector<Dependency> dependencies) {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(m_mutex);
  std::erase_if(m_failures, [&](const auto& item) { return item.second.until <= now; });
  m_failures[key] = {now + m_lasts, std::move(error), std::move(dependencies)};
}

std::exception_ptr Failures::find(const cache::Key& key) {
  Failure failure;
  {
    const std::lock_guard lock(m_mutex);
    const auto found = m_failures.find(key);
    if (found == m_failures.end() || found->second.until <= std::chrono::steady_clock::now()) return nullptr;
    failure = found->second;
  }
  const bool same =
      std::all_of(failure.dependencies.begin(), failure.dependencies.end(), [](const auto& dependency) {
        FileStamp ignored;
        return check(dependency, ignored) != DependencyState::changed;
      });
  return same ? failure.error : nullptr;
}

}  // namespace tarsia::pipeline
