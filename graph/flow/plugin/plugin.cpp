// The library that brings oneTBB. It is apart from libtarsia, so that programs without such graphs load no
// TBB.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/task_arena.h>

#include <deque>
#include <memory>
#include <vector>

#include "graph/flow/flow_abi.h"

namespace tarsia::graph {

namespace {

namespace flow = oneapi::tbb::flow;

struct Flow {
  explicit Flow(int threads) : arena(threads) {}
  oneapi::tbb::task_arena arena;
  std::unique_ptr<flow::graph> graph;
  std::deque<flow::continue_node<flow::continue_msg>> nodes;
  std::vector<std::uint32_t> sources;
  FlowBody body = nullptr;
  void* with = nullptr;
};

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* tarsia_flow_make(std::uint32_t n, const FlowEdge* edges,
                                                      std::size_t n_edges, int threads) noexcept try {
  auto made = std::make_unique<Flow>(threads);
  Flow* const f = made.get();
  // A flow graph runs in the arena in which it was made.
  f->arena.execute([&] {
    f->graph = std::make_unique<flow::graph>();
    for (std::uint32_t s = 0; s < n; ++s)
      f->nodes.emplace_back(*f->graph, [f, s](const flow::continue_msg&) { f->body(f->with, s); });
    std::vector<bool> follows(n, false);
    for (std::size_t e = 0; e < n_edges; ++e) {
      flow::make_edge(f->nodes[edges[e].from], f->nodes[edges[e].to]);
      follows[edges[e].to] = true;
    }
    for (std::uint32_t s = 0; s < n; ++s)
      if (!follows[s]) f->sources.push_back(s);
  });
  return made.release();
} catch (...) {
  return nullptr;
}

[[gnu::visibility("default")]] bool tarsia_flow_run(void* flow, FlowBody body, void* with) noexcept try {
  Flow& f = *static_cast<Flow*>(flow);
  f.body = body;
  f.with = with;
  f.arena.execute([&] {
    for (std::uint32_t s : f.sources) f.nodes[s].try_put(flow::continue_msg());
    f.graph->wait_for_all();
  });
  return true;
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
