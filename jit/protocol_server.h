// The worker's side of the protocol.
//
//   int main() {
//     MyHandler handler;
//     return tarsia::jit::serve(tarsia::UniqueFd(tarsia::jit::k_worker_fd), {.build_id = …, .compilers = …},
//     handler);
//   }
#pragma once

#include <string>
#include <vector>

#include "jit/protocol.h"

namespace tarsia::jit {

/// The worker's work. Calls come one at a time, all from serve's thread.
class Handler {
 public:
  virtual ~Handler() = default;
  /// Several threads may use `parts` until compile returns. Its calls throw nothing but std::bad_alloc. A
  /// std::exception thrown from compile becomes a failed result of stage `worker`. std::bad_alloc ends the
  /// process with k_exit_out_of_memory.
  virtual CompileResult compile(const CompileRequest& request, PartStore& parts) = 0;
  /// Called before compile. Whether another process has taken the request and sent the client its result.
  virtual bool answer_elsewhere(const CompileRequest&, PartStore&) { return false; }
  /// Called before the first compile, if the client wants that. Gives up what compiles do not need, for good;
  /// returns what the kernel lacks for it, for people.
  virtual std::vector<std::string> confine(const CudaParts&) { return {}; }
  /// Called when a compile's result has been sent, before anything else.
  virtual void answered() {}
  /// "sm_90", … of the GPUs present, without doubles; empty if there is none.
  virtual std::vector<std::string> archs() = 0;
  /// False after a failure that leaves the process in doubt: it answers, then it leaves.
  virtual bool usable() const { return true; }
  /// Called when a compile's result has been sent and no other request is waiting for it; must return at
  /// once.
  virtual void idle() {}
};

/// A worker that nobody asks for this long leaves; its client starts another when it needs one.
inline constexpr std::chrono::minutes k_worker_idle{5};

/// Says hello, then answers until the client closes its end, is silent for k_worker_idle, or the handler is
/// not usable any more. Returns the
/// process's exit code. For a process of its own: when the client goes in the middle of a compile, the
/// process ends at once.
int serve(UniqueFd socket, const Hello& hello, Handler& handler);

}  // namespace tarsia::jit
