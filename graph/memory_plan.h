// The third pass over a graph: which slots share memory, and where it lies.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "graph/program.h"

namespace tarsia::graph {

using BufferId = std::uint32_t;

/// Memory of one size that one slot after another uses, each in the place of the one before.
struct Buffer {
  std::uint64_t bytes = 0;
  tarsia_device device;
  std::uint32_t first = 0;        ///< the step that makes its first slot
  std::uint32_t last = 0;         ///< the last step that uses it
  std::uint32_t output = k_none;  ///< the output of the graph that ends in it: it is that output's memory
  std::uint32_t within = k_none;  ///< otherwise: it lies in the memory of this output, before that is made
  std::uint32_t arena = k_none;   ///< otherwise: it lies in this arena
  std::uint64_t offset = 0;       ///< in the arena or in that output, in bytes
  std::uint64_t room = 0;         ///< the most bytes that it may have there, if more than `bytes`
};

/// One piece of memory on one device.
struct ArenaSize {
  tarsia_device device;
  std::uint64_t bytes = 0;
};

struct MemoryPlan {
  std::vector<BufferId> buffer_of;  ///< of each slot; k_none for those that no step makes
  std::vector<Buffer> buffers;
  std::vector<ArenaSize> arenas;
  std::vector<BufferId>
      workspace_of;  ///< of each step: what its implementation says it needs; k_none: nothing
  /// The request for each output of each step.
  std::vector<std::vector<std::uint8_t>> requests;
  /// Slots of which the second took over the memory of the first, by the implementation's pair.
  std::vector<std::pair<SlotId, SlotId>> shared;
  std::uint64_t inner = 0;        ///< the bytes that graphs within this one keep
  std::uint64_t bytes = 0;        ///< arenas, outputs and `inner`
  std::uint64_t lower_bound = 0;  ///< the largest sum of the bytes that are live at one step
  std::uint64_t workspace = 0;    ///< the largest workspace of a step
  double milliseconds = 0;        ///< that planning took
};

/// Plans with what the chosen implementations allow. Deterministic.
MemoryPlan plan_memory(const Program& program);

/// The two passes of plan_memory. The first makes buffers, and the second gives them places.
MemoryPlan share_memory(const Program& program);
/// How much room buffers get beyond their bytes.
enum class Headroom : std::uint8_t {
  none,
  quarter  ///< of their bytes; then none lies in an output's memory
};
void place_memory(MemoryPlan& plan, Headroom headroom);

/// Alignment of each buffer on the CPU and on a GPU, in bytes.
inline constexpr std::uint64_t k_cpu_alignment = 64, k_gpu_alignment = 256;

}  // namespace tarsia::graph
