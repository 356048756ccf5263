// Finds branches. A step goes on in the lane of a step before it that nobody has gone on from; otherwise it
// gets a new lane of its GPU, or the one that has been idle for longest. A clock for each step says up to
// which step of each lane everything has happened before it, so that nothing is waited for twice (Lamport's
// happened-before as vector clocks: Mattern, Virtual Time and Global States of Distributed Systems, 1989).
#include "graph/lanes.h"

#include <algorithm>
#include <utility>

namespace tarsia::graph {

namespace {

constexpr std::size_t k_most_steps_in_lanes = 4000;  // buffers are compared with each other

/// Whether two buffers lie in the same bytes.
bool overlap(const Buffer& a, const Buffer& b) {
  const std::uint32_t in_a = a.output != k_none ? a.output : a.within,
                      in_b = b.output != k_none ? b.output : b.within;
  if (in_a != in_b || (in_a == k_none && a.arena != b.arena)) return false;
  if (a.output != k_none || b.output != k_none) return true;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> dependencies_of(const Program& program, const MemoryPlan& plan) {
  const auto n = static_cast<std::uint32_t>(program.steps.size());
  std::vector<std::vector<std::uint32_t>> before(n);
  std::vector<std::uint32_t> maker(program.slots.size(), k_none), changer(program.slots.size(), k_none);
  std::vector<std::vector<std::uint32_t>> readers(program.slots.size());
  std::vector<std::vector<std::uint32_t>> users(plan.buffers.size());  // steps that touch each buffer
  // A step that begins a buffer follows all that used its bytes before.
  const auto enter = [&](BufferId buffer, std::uint32_t s) {
    for (BufferId other = 0; other < plan.buffers.size(); ++other)
      if (other != buffer && plan.buffers[other].first < s &&
          overlap(plan.buffers[other], plan.buffers[buffer]))
        before[s].insert(before[s].end(), users[other].begin(), users[other].end());
  };
  std::uint32_t last_change = k_none;  // the last step that changed states of its own
  for (std::uint32_t s = 0; s < n; ++s) {
    const Step& step = program.steps[s];
    if (step.changes_own_state) {
      if (last_change != k_none) before[s].push_back(last_change);
      last_change = s;
    }
    for (const std::vector<SlotId>* slots : {&step.inputs, &step.add_to})
      for (SlotId slot : *slots) {
        if (slot == k_none) continue;
        if (maker[slot] != k_none) before[s].push_back(maker[slot]);
        if (plan.buffer_of[slot] != k_none) users[plan.buffer_of[slot]].push_back(s);
      }
    // What a step changes where it lies: the steps around it keep their order.
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const SlotId slot = step.inputs[i];
      if (slot == k_none || program.slots[slot].source == Source::planned) continue;
      if (changer[slot] != k_none) before[s].push_back(changer[slot]);
      const bool changes = step.bound && step.kind == StepKind::forward &&
                           step.bound->changes_input(static_cast<std::uint32_t>(i));
      if (!changes) {
        readers[slot].push_back(s);
        continue;
      }
      before[s].insert(before[s].end(), readers[slot].begin(), readers[slot].end());
      readers[slot].clear();
      changer[slot] = s;
    }
    for (SlotId slot : step.outputs) {
      if (slot == k_none) continue;
      maker[slot] = s;
      const BufferId buffer = plan.buffer_of[slot];
      if (buffer == k_none) continue;
      // Taken over from another slot: those who read that one come first.
      before[s].insert(before[s].end(), users[buffer].begin(), users[buffer].end());
      if (plan.buffers[buffer].first == s) enter(buffer, s);
      users[buffer].push_back(s);
    }
    if (const BufferId workspace = plan.workspace_of[s]; workspace != k_none) {
      enter(workspace, s);
      users[workspace].push_back(s);
    }
    std::ranges::sort(before[s]);
    before[s].erase(std::ranges::unique(before[s]).begin(), before[s].end());
    std::erase(before[s], s);
  }
  return before;
}

std::vector<std::int32_t> gpus_of(const Program& program) {
  std::vector<std::int32_t> gpus;
  for (const Step& step : program.steps)
    if (registry::is_gpu(step.device) && std::ranges::find(gpus, step.device.id) == gpus.end())
      gpus.push_back(step.device.id);
  return gpus;
}

Lanes assign_lanes(const Program& program, const MemoryPlan& plan, std::int32_t home) {
  Lanes lanes;
  const auto n = static_cast<std::uint32_t>(program.steps.size());
  lanes.lane.assign(n, 0);
  lanes.waits.resize(n);
  lanes.is_waited_for.assign(n, false);
  lanes.last = {n ? n - 1 : k_none};
  lanes.gpu = {home};
  const std::vector<std::int32_t> gpus = gpus_of(program);
  const bool is_of_home = std::ranges::all_of(gpus, [&](std::int32_t gpu) { return gpu == home; });
  if (is_of_home && (n < 3 || n > k_most_steps_in_lanes)) return lanes;

  const std::vector<std::vector<std::uint32_t>> before = dependencies_of(program, plan);
  using Clock = std::vector<std::int64_t>;
  const std::size_t most = (gpus.size() + 1) * k_most_lanes;
  std::vector<Clock> clocks(n);
  std::vector<std::int64_t> tail{-1};  // of each lane: its last step so far
  for (std::uint32_t s = 0; s < n; ++s) {
    if (!registry::is_gpu(program.steps[s].device)) {
      lanes.lane[s] = k_none;
      continue;
    }
    const std::int32_t gpu = program.steps[s].device.id;
    std::uint32_t lane = k_none, n_of_gpu = 0, idle = k_none;
    for (auto p = before[s].rbegin(); p != before[s].rend() && lane == k_none; ++p) {
      const std::uint32_t other = lanes.lane[*p];
      if (other != k_none && lanes.gpu[other] == gpu && tail[other] == *p) lane = other;
    }
    for (std::uint32_t l = 0; l < tail.size(); ++l) {
      if (lanes.gpu[l] != gpu) continue;
      ++n_of_gpu;
      if (idle == k_none || tail[l] < tail[idle]) idle = l;
    }
    if (lane == k_none && idle != k_none && tail[idle] < 0) lane = idle;  // it is the caller's
    if (lane == k_none && n_of_gpu < k_most_lanes) {
      lane = static_cast<std::uint32_t>(tail.size());
      tail.push_back(-1);
      lanes.gpu.push_back(gpu);
    }
    if (lane == k_none) lane = idle;
    Clock clock = tail[lane] >= 0 ? clocks[static_cast<std::size_t>(tail[lane])] : Clock(most, -1);
    for (auto p = before[s].rbegin(); p != before[s].rend(); ++p) {
      const std::uint32_t other = lanes.lane[*p];
      if (other == k_none || other == lane || clock[other] >= *p) continue;
      lanes.waits[s].push_back(*p);
      lanes.is_waited_for[*p] = true;
      for (std::size_t l = 0; l < most; ++l) clock[l] = std::max(clock[l], clocks[*p][l]);
    }
    clock[lane] = s;
    clocks[s] = std::move(clock);
    lanes.lane[s] = lane;
    tail[lane] = s;
  }
  lanes.n = static_cast<std::uint32_t>(tail.size());
  lanes.last.clear();
  for (std::uint32_t l = 0; l < lanes.n; ++l) {
    lanes.last.push_back(tail[l] < 0 ? k_none : static_cast<std::uint32_t>(tail[l]));
    if (l) lanes.is_waited_for[static_cast<std::uint32_t>(tail[l])] = true;
  }
  return lanes;
}

}  // namespace tarsia::graph
