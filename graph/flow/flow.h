// Steps of a program that run at the same time on the CPU, by oneTBB's flow graph.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/flow/flow_abi.h"
#include "graph/flow/tsan_order.h"
#include "graph/lanes.h"

namespace tarsia::graph {

/// The edges of a program that pays to run at once: two heavy steps of it do not follow each other. Heavy is
/// what has tensors of 1 MiB, or of TARSIA_FLOW_SIZE_MB: a step that another thread takes over costs some
/// microseconds. Null where it does not pay, or must not be: steps on a GPU, sparse tensors, states and other
/// tensors of callers that are changed, ops that draw random numbers, and ops that are of no compiled
/// library, such as those that are written in Python. Throws ArgumentError for a wrong TARSIA_FLOW_SIZE_MB.
std::optional<std::vector<FlowEdge>> flow_edges(const Program& program, const MemoryPlan& plan);

/// Owns one flow graph. One thread at a time may use it.
class Flow {
 public:
  /// Runs a step. Gives 0, or a code whose text is the thread's last error. Throws nothing.
  using Step = std::function<std::int32_t(std::uint32_t step)>;
  /// How a run ended.
  struct Result {
    std::int32_t code = 0;        ///< then the calling thread's last error says more
    std::uint32_t step = k_none;  ///< which failed; k_none: the call was interrupted
  };

  /// Null where oneTBB cannot be used: its library is missing, the process was forked from one that has used
  /// it, or ends.
  static std::unique_ptr<Flow> make(std::uint32_t n, std::span<const FlowEdge> edges);
  ~Flow();
  Flow(const Flow&) = delete;

  /// Whether this thread may use it now: not where make() gives null, nor within a step of another flow.
  bool is_usable() const;
  /// Runs the steps on threads of oneTBB's, which compute with numbers as the caller's does. Of several
  /// failures, the first in the order of the steps is told, whichever came first. Steps behind it do not
  /// begin any more, nor do any once the call is interrupted. Throws Error where oneTBB has no memory.
  Result run(const Step& step);

 private:
  Flow(void* flow, std::uint32_t n, std::span<const FlowEdge> edges);
  void* m_flow;
  int m_process;
  TsanOrder m_order;
};

}  // namespace tarsia::graph
