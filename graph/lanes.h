// Which steps of a program may run at once: lanes, each of which is a stream on a GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/memory_plan.h"

namespace tarsia::graph {

/// The most lanes of a program on one GPU.
inline constexpr std::uint32_t k_most_lanes = 4;

/// The lane of each step, and what has to be waited for. Lane 0 is the caller's stream. Steps of one lane run
/// in their order, all on one GPU.
struct Lanes {
  std::uint32_t n = 1;
  std::vector<std::uint32_t> lane;                ///< of each step; k_none: it runs on the CPU
  std::vector<std::vector<std::uint32_t>> waits;  ///< of each step: steps of other lanes that come before it
  std::vector<bool> is_waited_for;                ///< of each step: by another lane, or by the end
  std::vector<std::uint32_t> last;                ///< of each lane: its last step; k_none: it has none
  std::vector<std::int32_t> gpu;                  ///< of each lane
};

/// The steps that come before each step, each once: those that make what it takes, those that used the memory
/// that it writes to, and those that use the same state.
std::vector<std::vector<std::uint32_t>> dependencies_of(const Program& program, const MemoryPlan& plan);

/// The GPUs of a program's steps, each once, in the order of the steps.
std::vector<std::int32_t> gpus_of(const Program& program);

/// `home` is the GPU of the caller's stream. Steps on the CPU are in no lane: they run when they are called,
/// and copies between the CPU and a GPU wait. On one GPU, a program has one lane if it has no branches, or
/// too many steps to look for them.
Lanes assign_lanes(const Program& program, const MemoryPlan& plan, std::int32_t home);

}  // namespace tarsia::graph
