// Steps of a program that run at the same time on the CPU, by oneTBB's flow graph.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "graph/flow/flow_abi.h"
#include "graph/lanes.h"

namespace tarsia::graph {

/// Tensors of a step that are smaller in sum make it no heavy one: a step that another thread takes over
/// costs some microseconds.
inline constexpr std::uint64_t k_heavy_bytes = 1 << 20;

/// The edges of a program that pays to run at once: two heavy steps of it do not follow each other. Null
/// where it does not, or must not: steps on a GPU, sparse tensors, states and other tensors of callers that
/// may be changed, ops that draw random numbers, and ops that are of no compiled library, such as those that
/// are written in Python.
std::optional<std::vector<FlowEdge>> flow_edges(const Program& program, const MemoryPlan& plan);

/// Owns one flow graph. One thread at a time may use it.
class Flow {
 public:
  /// Null where the library that brings oneTBB is missing, and in a child that was forked from its user.
  static std::unique_ptr<Flow> make(std::uint32_t n, std::span<const FlowEdge> edges);
  ~Flow();
  Flow(const Flow&) = delete;

  /// Whether this process may use it: not in a child that was forked behind its making, nor within a step of
  /// another flow.
  bool is_usable() const;
  /// Runs each step once. `body` throws nothing. False: it could not be run.
  bool run(FlowBody body, void* with);

 private:
  explicit Flow(void* flow);
  void* m_flow;
  int m_process;
};

}  // namespace tarsia::graph
