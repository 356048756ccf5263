// Throws compile errors, and keeps them for a short time.
#include "pipeline/failures.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "pipeline/cflags.h"
#include "pipeline/check.h"

namespace tarsia::pipeline {
namespace {

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "'" : ", '") + name + "'";
  return text;
}

}  // namespace

std::string named(const jit::CompileRequest& request) {
  return request.name.empty() ? request.files.front().name : request.name;
}

void raise_failure(const std::string& name, const jit::CompileRequest& request, jit::CompileResult&& result) {
  const std::vector<std::string>& there = result.exportable_functions;
  if (!result.missing_functions.empty())
    throw ArgumentError::value_error("functions: the source has no function " +
                                     listed(result.missing_functions) + " that can be exported; " +
                                     (there.empty() ? "it has none at all" : "it has " + listed(there)));
  if (result.limit_reached && !result.diagnostics.empty())
    throw ResourceLimit(name + ": " + result.diagnostics.front().message);
  if (result.stage == Stage::source)
    for (jit::Diagnostic& diagnostic : result.diagnostics)
      if (diagnostic.severity == Severity::fatal) throw InvalidSource(std::move(diagnostic));
  std::ranges::move(warn_of_missing_folders(request.options), std::back_inserter(result.diagnostics));
  const char* what = result.stage == Stage::link ? " does not link" : " does not compile";
  throw CompileError(name + what, result.stage, std::move(result.diagnostics));
}

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
