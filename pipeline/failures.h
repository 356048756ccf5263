// Compile errors, and the recent ones, so that many callers with the same broken source cause only one
// compile.
#pragma once

#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/dependency.h"
#include "base/fork.h"
#include "cache/key.h"
#include "jit/compile.h"

namespace tarsia::pipeline {

/// The name by which messages call the source of a request.
std::string named(const jit::CompileRequest& request);

/// Throws what a result without a module means to whoever asked for one by this name: ArgumentError,
/// ResourceLimit, InvalidSource or CompileError.
[[noreturn]] void raise_failure(const std::string& name, const jit::CompileRequest& request,
                                jit::CompileResult&& result);

/// Thread-safe. Holds errors that the text caused, but no time-outs and crashes.
class Failures final : public ForkAware {
 public:
  explicit Failures(std::chrono::milliseconds lasts) : m_lasts(lasts) { watch_forks(); }
  ~Failures() { forget_forks(); }

  void keep(const cache::Key& key, std::exception_ptr error, std::vector<Dependency> dependencies);
  /// The error, if it is young and no file that led to it has changed; else null.
  std::exception_ptr find(const cache::Key& key);

 private:
  struct Failure {
    std::chrono::steady_clock::time_point until;
    std::exception_ptr error;
    std::vector<Dependency> dependencies;
  };
  void before_fork() override { m_mutex.lock(); }
  void after_fork_in_parent() override { m_mutex.unlock(); }
  void after_fork_in_child() override { m_mutex.unlock(); }

  const std::chrono::milliseconds m_lasts;
  std::mutex m_mutex;
  std::map<cache::Key, Failure> m_failures;
};

}  // namespace tarsia::pipeline
