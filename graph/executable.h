// A program with its memory, ready to run.
#pragma once

#include <tarsia/op_abi.h>

#include <memory>
#include <optional>
#include <vector>

#include "base/fork.h"
#include "graph/arena.h"
#include "graph/flow/flow.h"
#include "graph/lanes.h"
#include "graph/memory_buckets.h"
#include "graph/memory_plan.h"

namespace tarsia::graph {

/// Thread-safe. Calls that overlap have an arena each; an arena is kept for the calls to come, so that calls
/// soon allocate nothing. An arena that work on a GPU still uses is given to another stream only behind that
/// work.
class Executable {
 public:
  /// With `buckets`, it takes part in their plans and memory; without, it has a plan and arenas of its own.
  explicit Executable(Program program, std::shared_ptr<MemoryBuckets> buckets = nullptr);
  ~Executable();
  Executable(const Executable&) = delete;

  const Program& program() const { return m_program; }
  const MemoryPlan& plan() const { return m_plan; }
  const Lanes& lanes() const { return m_lanes; }
  /// Null: it has a plan of its own.
  MemoryBuckets* buckets() const { return m_buckets.get(); }

  /// The tensors of one run. `inputs` has one for each input of the graph, `outputs` one for each output:
  /// dense ones of the slot's size, or tarsia_sparse where the meta says so. A null output is computed and
  /// dropped.
  struct Call {
    const tarsia_tensor* const* inputs;
    const tarsia_tensor* const* outputs;
    void* stream;  ///< on a GPU: that of the program, or else of its first step
  };
  /// Runs all steps. On a GPU, it follows the stream, and the stream follows it; independent branches, and
  /// steps on other GPUs, run on streams of the arena meanwhile. Waits only for copies between the CPU and a
  /// GPU. Returns 0, or a code
  /// with the thread's last error set, which names the node.
  std::int32_t run(const Call& call) noexcept;

 private:
  class Arena;
  std::unique_ptr<Arena> take(void* stream);
  void give(std::unique_ptr<Arena> arena, void* stream) noexcept;
  std::int32_t run_steps(Arena& arena, void* stream) const;
  bool overlaps_held(const void* data, std::uint64_t bytes) const;
  /// Whether the buffers that lie within an output may lie there if it begins at `data`.
  bool is_aligned(std::size_t output, const void* data) const;
  std::int32_t run_step(Arena& arena, std::size_t step, void* stream) const noexcept;

  Program m_program;
  std::shared_ptr<MemoryBuckets> m_buckets;
  MemoryPlan m_plan;
  Lanes m_lanes;                                ///< of a program on a GPU
  std::optional<std::vector<FlowEdge>> m_flow;  ///< of a program whose steps run at once on the CPU
  bool m_uses_gpu = false;
  bool m_uses_gpus = false;         ///< others than that of the caller's stream
  std::vector<SlotId> m_inputs;     ///< of the graph
  std::vector<const Slot*> m_held;  ///< constants, parameters and states
  std::vector<std::uint64_t>
      m_output_alignment;  ///< of each output, in bytes; empty: nothing lies within one
  ForkSafeMutex m_mutex;   ///< of the two lists below
  std::vector<std::unique_ptr<Arena>> m_free;
  std::vector<std::unique_ptr<Arena>> m_captured;  ///< of CUDA graphs, which may run until this ends
};

}  // namespace tarsia::graph
