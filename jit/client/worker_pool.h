// Workers for parallel compiles: at most as many as the settings allow. Each runs one compile at a time and
// is kept for the next.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fork.h"
#include "jit/client/worker_process.h"

namespace tarsia::jit {

/// A part as the client keeps it: a range of a file.
struct PartFile {
  UniqueFd fd;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Where this side keeps the worker's parts. Called from the thread that compiles. May throw, which the
/// worker sees as a part not found, or not kept.
struct PartFileStore {
  virtual ~PartFileStore() = default;
  virtual std::optional<PartFile> find(PartKind kind, const std::array<unsigned char, 32>& key) = 0;
  virtual void keep(PartKind kind, const std::array<unsigned char, 32>& key, std::string_view bytes) = 0;
};

struct PoolSettings {
  /// Called when a worker is to be started; may throw.
  std::function<WorkerProgram()> program;
  /// How far a worker is to be isolated now. One that was started otherwise is let go. May throw. Empty: as
  /// it was started.
  std::function<Isolation()> isolation = {};
  unsigned max_workers = 0;                                     ///< 0: one for each core
  std::chrono::milliseconds timeout = std::chrono::minutes(5);  ///< of a compile whose request names none
  std::chrono::milliseconds start_timeout = std::chrono::seconds(60);
  /// An idle worker must begin with a request within this time, or another takes its place. Longer than a
  /// busy machine needs to wake a process.
  std::chrono::milliseconds begin_timeout = std::chrono::seconds(2);
  std::uint64_t max_resident_bytes = std::uint64_t{2} << 30;  ///< an idle worker larger than this is let go
};

/// Thread-safe. In a forked child the parent's workers are dropped and new ones started.
class WorkerPool final : public ForkAware {
 public:
  explicit WorkerPool(PoolSettings settings);
  ~WorkerPool();

  /// Compiles in a worker, after waiting for a free one. The request's time limit counts from when it has
  /// one. A source that does not compile gives a result. Throws CompileTimeout, CompilerCrashed,
  /// ResourceLimit, Interrupted, and what WorkerProcess::start and the settings throw. A worker that ends or
  /// stands still before it has begun with the request is replaced.
  CompileResult compile(const CompileRequest& request, PartFileStore& parts);
  /// The architectures of the GPUs of this machine. Throws like compile.
  std::vector<std::string> archs();

  /// Workers started by this pool so far, in this process.
  unsigned started() const { return m_started; }
  /// Process ids of workers that wait for work.
  std::vector<pid_t> idle_pids();

 private:
  struct State;
  class Lease;

  /// A lease with an idle worker, or of a slot without one.
  Lease acquire(const std::string& what);
  void start_worker(Lease& lease);
  /// Sends the request, null for a query of the GPUs, to a worker and runs `talk(channel, deadline)` once the
  /// worker has begun with it.
  template <typename Talk>
  void exchange(const std::string& what, std::chrono::milliseconds limit, const CompileRequest* request,
                std::string_view payload, Talk talk);
  void before_fork() override;
  void after_fork_in_parent() override;
  void after_fork_in_child() override;

  const PoolSettings m_settings;
  std::atomic<unsigned> m_started{0};
  std::unique_ptr<State> m_state;
};

/// The worker's memory limit: TARSIA_COMPILER_MEMORY_MB, or 8 GiB if that is not set. 0 means no limit.
/// Throws ArgumentError if the value is no size.
std::uint64_t compiler_memory_limit();

}  // namespace tarsia::jit
