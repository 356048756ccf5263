// A node's service: keeps workers warm and lends them to all processes of one user (docs/service.md).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "jit/client/worker_process.h"

namespace tarsia::jit {

struct ServiceSettings {
  std::string socket;                      ///< where it listens
  std::function<WorkerProgram()> program;  ///< called when a worker is to be started; may throw
  /// More figures for those who ask, in Prometheus's text format. Called by run(); may throw.
  std::function<std::string()> more_figures = {};
  unsigned workers = 0;            ///< 0: one for each core
  unsigned per_client = 0;         ///< workers that one process has at a time; 0: all
  unsigned queue = 64;             ///< requests that wait; those beyond are told that it is busy
  unsigned queue_per_client = 16;  ///< of one process
  std::chrono::seconds longest_lease = std::chrono::minutes(30);  ///< then the worker is ended
  /// A connection without a request is let go.
  std::chrono::milliseconds longest_silence = std::chrono::seconds(5);
  /// A process that is stopped so long loses its workers, and its turn, if others wait.
  std::chrono::milliseconds longest_stop = std::chrono::seconds(2);
  std::uint64_t max_resident_bytes = std::uint64_t{2} << 30;  ///< a worker larger than this is let go
};

/// A worker that becomes free goes to the process that has the fewest, and among those to the one that has
/// waited longest. Workers that crash, or whose clients go, are replaced. A connection that begins with "GET
/// " is answered in HTTP with Prometheus's text. One thread.
class Service {
 public:
  /// Listens, and starts the workers. The socket has mode 0600; processes of other users are sent away.
  /// Throws Error if another service is there or the path cannot be used, and what `program` throws.
  explicit Service(ServiceSettings settings);
  /// Ends the workers and removes the socket.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Serves until `stop` is readable.
  void run(int stop);

 private:
  class Loop;
  std::unique_ptr<Loop> m_loop;
};

}  // namespace tarsia::jit
