// Opens the library that brings oneTBB, and decides which programs are worth it.
#include "graph/flow/flow.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/fork.h"
#include "base/log.h"
#include "base/paths.h"
#include "registry/resources/parallel.h"

namespace tarsia::graph {

namespace {

constexpr std::size_t k_most_steps = 2000;  // which steps follow which is a bit for each pair

thread_local bool t_inside = false;  ///< a step of a flow runs on this thread

struct Library {
  FlowMake* make = nullptr;
  FlowRun* run = nullptr;
  FlowEnd* end = nullptr;
};

Library open_library() {
  const InLoader loading;
  const std::string path = library_dir() + "/" + k_flow_library;
  void* handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char* why = ::dlerror();
    log().warn("graphs run one step after the other: {}", why ? why : path);
    return {};
  }
  return {reinterpret_cast<FlowMake*>(::dlsym(handle, k_flow_make)),
          reinterpret_cast<FlowRun*>(::dlsym(handle, k_flow_run)),
          reinterpret_cast<FlowEnd*>(::dlsym(handle, k_flow_end))};
}

const Library& library() {
  static std::atomic<Library*> s_library{nullptr};
  return made_once(s_library, open_library);
}

std::uint64_t bytes_of(const Program& program, const Step& step) {
  std::uint64_t sum = 0;
  for (const std::vector<SlotId>* slots : {&step.inputs, &step.outputs})
    for (SlotId slot : *slots)
      if (slot != k_none)
        sum += static_cast<std::uint64_t>(registry::bytes_of(
            program.slots[slot].meta.shape, program.slots[slot].meta.ndim, program.slots[slot].meta.dtype));
  return sum;
}

bool may_run_at_once(const Program& program) {
  for (const Slot& slot : program.slots)
    if (slot.meta.storage != TARSIA_DENSE || slot.is_state) return false;
  for (const Step& step : program.steps) {
    if (registry::is_gpu(step.device) || step.kind == StepKind::copy) return false;
    if (step.bound && (step.bound->draws_random() || !step.bound->is_compiled(step.pass()))) return false;
    // What it may change where it lies is the caller's, and may lie in the memory of something else.
    for (std::size_t i = 0; step.bound && step.kind == StepKind::forward && i < step.inputs.size(); ++i)
      if (step.inputs[i] != k_none && program.slots[step.inputs[i]].source != Source::planned &&
          !step.bound->has_gradient(static_cast<std::uint32_t>(i)))
        return false;
  }
  return true;
}

}  // namespace

std::optional<std::vector<FlowEdge>> flow_edges(const Program& program, const MemoryPlan& plan) {
  const auto n = static_cast<std::uint32_t>(program.steps.size());
  if (n < 2 || n > k_most_steps || registry::parallel_threads() < 2) return std::nullopt;
  std::vector<std::uint32_t> heavy;
  for (std::uint32_t s = 0; s < n; ++s)
    if (bytes_of(program, program.steps[s]) >= k_heavy_bytes) heavy.push_back(s);
  if (heavy.size() < 2 || !may_run_at_once(program)) return std::nullopt;
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

std::unique_ptr<Flow> Flow::make(std::uint32_t n, std::span<const FlowEdge> edges) {
  const Library& tbb = library();
  if (!tbb.make || !tbb.run || !tbb.end) return nullptr;
  // A forked child has oneTBB's memory of its parent's threads, and not the threads.
  static std::atomic<int> s_process{0};
  int first = 0;
  if (!s_process.compare_exchange_strong(first, ::getpid()) && first != ::getpid()) return nullptr;
  void* flow = tbb.make(n, edges.data(), edges.size(), registry::parallel_threads());
  return flow ? std::unique_ptr<Flow>(new Flow(flow)) : nullptr;
}

Flow::Flow(void* flow) : m_flow(flow), m_process(::getpid()) {}

Flow::~Flow() {
  if (m_process == ::getpid()) library().end(m_flow);  // else its threads are the parent's
}

bool Flow::is_usable() const {
  return !t_inside && m_process == ::getpid();
}

bool Flow::run(FlowBody body, void* with) {
  struct Marked {
    FlowBody body;
    void* with;
  } marked{body, with};
  return library().run(
      m_flow,
      [](void* given, std::uint32_t step) {
        const auto* one = static_cast<const Marked*>(given);
        const bool before = std::exchange(t_inside, true);
        one->body(one->with, step);
        t_inside = before;
      },
      &marked);
}

}  // namespace tarsia::graph
