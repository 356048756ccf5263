// Decides which programs are worth oneTBB.
#include <algorithm>

#include "base/number_setting.h"
#include "graph/flow/flow.h"
#include "registry/resources/parallel.h"

namespace tarsia::graph {

namespace {

constexpr std::size_t k_most_steps = 2000;  // which steps follow which is a bit for each pair

std::uint64_t bytes_of(const Program& program, const Step& step) {
  std::uint64_t sum = 0;
  for (const std::vector<SlotId>* slots : {&step.inputs, &step.outputs})
    for (SlotId slot : *slots)
      if (slot != k_none) sum += program.slots[slot].bytes;
  return sum;
}

bool may_run_at_once(const Program& program) {
  for (const Slot& slot : program.slots)
    if (slot.meta.storage != TARSIA_DENSE || slot.is_state) return false;
  return std::ranges::all_of(program.steps, [](const Step& step) {
    if (registry::is_gpu(step.device)) return false;
    if (!step.bound) return true;
    if (step.bound->draws_random() || !step.bound->is_compiled(step.pass())) return false;
    // What it changes where it lies is the caller's, and may lie in the memory of something else.
    for (std::uint32_t i = 0; step.kind == StepKind::forward && i < step.inputs.size(); ++i)
      if (step.bound->changes_input(i)) return false;
    return true;
  });
}

}  // namespace

std::optional<std::vector<FlowEdge>> flow_edges(const Program& program, const MemoryPlan& plan) {
  const std::uint64_t heavy_bytes = size_setting("TARSIA_FLOW_SIZE_MB", 1);
  const auto n = static_cast<std::uint32_t>(program.steps.size());
  if (n < 2 || n > k_most_steps) return std::nullopt;
  std::vector<std::uint32_t> heavy;
  for (std::uint32_t s = 0; s < n; ++s)
    if (bytes_of(program, program.steps[s]) >= heavy_bytes) heavy.push_back(s);
  if (heavy.size() < 2 || registry::parallel_threads() < 2 || !may_run_at_once(program)) return std::nullopt;
  const auto before = dependencies_of(program, plan);
  std::vector<std::vector<bool>> follows(n, std::vector<bool>(n, false));  // whom each step follows, at last
  std::vector<FlowEdge> edges;
  for (std::uint32_t s = 0; s < n; ++s)
    for (std::uint32_t p : before[s]) {
      edges.push_back({p, s});
      follows[s][p] = true;
      for (std::uint32_t q = 0; q < p; ++q)
        if (follows[p][q]) follows[s][q] = true;
    }
  for (std::uint32_t a : heavy)
    for (std::uint32_t b : heavy)
      if (a < b && !follows[b][a]) return edges;
  return std::nullopt;
}

}  // namespace tarsia::graph
