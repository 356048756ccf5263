// The library that brings oneTBB. It is apart from libtarsia, so that programs without such graphs load no
// TBB.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "graph/flow/flow_abi.h"

namespace tarsia::graph {

namespace {

namespace tbb = oneapi::tbb;

constexpr std::chrono::milliseconds k_ask_every{20};

/// The steps run on oneTBB's threads alone, and the caller waits beside them: a wait of oneTBB's own would
/// not come back to hear of an interrupt.
struct Flow {
  explicit Flow(int threads) : arena(threads, 0) {}
  tbb::task_arena arena;
  std::unique_ptr<tbb::flow::graph> graph;
  std::deque<tbb::flow::continue_node<tbb::flow::continue_msg>> nodes;
  std::vector<std::uint32_t> sources;
  FlowBody body = nullptr;
  void* with = nullptr;
  std::mutex mutex;
  std::condition_variable ended;
  bool has_ended = false, is_complete = false;
};

void run_all(Flow& f) noexcept {
  bool is_complete = true;
  try {
    for (std::uint32_t s : f.sources) f.nodes[s].try_put(tbb::flow::continue_msg());
  } catch (...) {
    is_complete = false;
  }
  try {
    f.graph->wait_for_all();
  } catch (...) {
    is_complete = false;
  }
  // Told under the lock: whoever hears it may end the flow.
  const std::lock_guard lock(f.mutex);
  f.is_complete = is_complete;
  f.has_ended = true;
  f.ended.notify_one();
}

/// oneTBB has as many threads as there are cores, and counts a caller that works as one of them. Ours does
/// not. A smaller number that the program has set stays: the smallest one counts.
void allow_threads(int threads) {
  using Control = tbb::global_control;
  const auto wanted = static_cast<std::size_t>(threads) + 1;
  if (Control::active_value(Control::max_allowed_parallelism) >= wanted) return;
  // As long as oneTBB. Atomic, so that it is kept where a sanitizer finds it.
  static std::atomic<Control*> s_control{new Control(Control::max_allowed_parallelism, wanted)};
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* tarsia_flow_make(std::uint32_t n, const FlowEdge* edges,
                                                      std::size_t n_edges, int threads) noexcept try {
  allow_threads(threads);
  auto made = std::make_unique<Flow>(threads);
  Flow* const f = made.get();
  // A flow graph runs in the arena in which it was made.
  f->arena.execute([&] {
    f->graph = std::make_unique<tbb::flow::graph>();
    for (std::uint32_t s = 0; s < n; ++s)
      f->nodes.emplace_back(*f->graph, [f, s](const tbb::flow::continue_msg&) {
        // A step that waits for tasks of its own must not take up another step meanwhile.
        tbb::this_task_arena::isolate([f, s] { f->body(f->with, s); });
      });
    std::vector<bool> follows(n, false);
    for (std::size_t e = 0; e < n_edges; ++e) {
      tbb::flow::make_edge(f->nodes[edges[e].from], f->nodes[edges[e].to]);
      follows[edges[e].to] = true;
    }
    for (std::uint32_t s = 0; s < n; ++s)
      if (!follows[s]) f->sources.push_back(s);
  });
  return made.release();
} catch (...) {
  return nullptr;
}

[[gnu::visibility("default")]] bool tarsia_flow_run(void* flow, FlowBody body, FlowAsk ask,
                                                    void* with) noexcept try {
  Flow& f = *static_cast<Flow*>(flow);
  f.body = body;
  f.with = with;
  f.has_ended = false;
  f.arena.enqueue([&f] { run_all(f); });
  std::unique_lock lock(f.mutex);
  while (!f.ended.wait_for(lock, k_ask_every, [&] { return f.has_ended; })) {
    lock.unlock();
    ask(with);
    lock.lock();
  }
  return f.is_complete;
} catch (...) {
  return false;
}

[[gnu::visibility("default")]] void tarsia_flow_end(void* flow) noexcept {
  auto* f = static_cast<Flow*>(flow);
  f->arena.execute([&] {
    f->nodes.clear();
    f->graph.reset();
  });
  delete f;
}
}

}  // namespace tarsia::graph
