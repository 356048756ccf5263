// A bound graph as a CUDA graph: all of its launches in one.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "base/cuda/cuda_driver.h"
#include "graph/graph.h"
#include "registry/op/bound_op.h"

namespace tarsia::graph {

/// Thread-safe. Its inputs and outputs are tensors of its own, at fixed addresses: fill the inputs, replay,
/// read the outputs, all on one stream or ordered by events. A replay or run on another stream waits for the
/// one before.
class CapturedGraph {
 public:
  /// Binds the op of a graph and captures its run: what a program asks of CUDA meanwhile on other threads is
  /// not disturbed. Throws Unsupported for a graph that is not on a GPU alone, CudaError, and what binding
  /// throws.
  CapturedGraph(registry::Ref<registry::OpEntry> op, const tarsia_op_request& request);
  ~CapturedGraph();
  CapturedGraph(const CapturedGraph&) = delete;

  const std::vector<StorageRef>& inputs() const { return m_inputs; }
  const std::vector<StorageRef>& outputs() const { return m_outputs; }
  /// Launches it on the stream, without waiting. Throws CudaError.
  void replay(void* stream);
  /// Copies tensors of the CPU or of this GPU to the inputs, launches it, and copies the outputs to
  /// `results`, which are like them. Waits if one of the tensors is on the CPU. Throws ArgumentError,
  /// CudaError.
  void run(std::span<const tarsia_tensor* const> given, std::span<const tarsia_tensor* const> results,
           void* stream);

 private:
  class Turn;
  void capture(const tarsia_op_call& call);

  registry::Ref<registry::BoundOp> m_bound;
  std::vector<StorageRef> m_inputs, m_outputs;
  int m_device;
  CuGraphExec m_exec = nullptr;
  CuEvent m_event = nullptr;
  std::mutex m_mutex;
  void* m_stream = nullptr;  ///< of the last turn
};

}  // namespace tarsia::graph
