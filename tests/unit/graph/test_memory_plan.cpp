// What every plan keeps to, on random graphs.
#include "graph/memory_plan.h"

#include "graph/executable.h"
#include "graph/lanes.h"
#include "tests/unit/graph/graph_fixture.h"

namespace tarsia::graph {

namespace {

bool overlap(const Buffer& a, const Buffer& b) {
  const auto host = [](const Buffer& x) { return x.output != k_none ? x.output : x.within; };
  if (host(a) != host(b) || (host(a) == k_none && a.arena != b.arena)) return false;
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace

TEST_F(GraphTest, buffers_that_live_at_the_same_time_never_overlap) {
  std::mt19937 random(3);
  for (int i = 0; i < 150; ++i) {
    const Graph g = random_graph(random, 1 + static_cast<int>(random() % 60));
    const auto bound = bind(g, {meta({100}), meta({100})});
    const MemoryPlan& plan = executable_of(*bound)->plan();
    for (std::size_t a = 0; a < plan.buffers.size(); ++a) {
      const Buffer& x = plan.buffers[a];
      EXPECT_EQ(x.offset % k_cpu_alignment, 0u);
      if (x.arena != k_none) {
        EXPECT_LE(x.offset + x.bytes, plan.arenas[x.arena].bytes);
      }
      for (std::size_t b = 0; b < a; ++b) {
        const Buffer& y = plan.buffers[b];
        const bool at_once = x.first <= y.last && y.first <= x.last;
        ASSERT_FALSE(at_once && overlap(x, y)) << "graph " << i << ": " << a << ", " << b;
      }
    }
    EXPECT_GE(plan.bytes + plan.buffers.size() * k_cpu_alignment, plan.lower_bound);
  }
}

TEST_F(GraphTest, the_lanes_order_every_step_behind_what_it_depends_on) {
  std::mt19937 random(5);
  std::uint32_t most = 1;
  for (int i = 0; i < 150; ++i) {
    const Graph g = random_graph(random, 1 + static_cast<int>(random() % 60));
    const auto bound = bind(g, {meta({100}), meta({100})});
    const Program& program = executable_of(*bound)->program();
    const MemoryPlan& plan = executable_of(*bound)->plan();
    const Lanes lanes = assign_lanes(program, plan);
    most = std::max(most, lanes.n);
    const auto n = program.steps.size();
    // ordered[a][b]: a comes before b whatever the streams do.
    std::vector<std::vector<bool>> ordered(n, std::vector<bool>(n, false));
    for (std::size_t b = 0; b < n; ++b) {
      std::vector<std::size_t> direct(lanes.waits[b].begin(), lanes.waits[b].end());
      for (std::size_t a = b; a-- > 0;)
        if (lanes.lane[a] == lanes.lane[b]) {
          direct.push_back(a);
          break;
        }
      for (std::size_t a : direct) {
        ordered[a][b] = true;
        for (std::size_t before = 0; before < a; ++before)
          if (ordered[before][a]) ordered[before][b] = true;
      }
    }
    const auto before = dependencies_of(program, plan);
    for (std::size_t b = 0; b < n; ++b)
      for (std::uint32_t a : before[b])
        ASSERT_TRUE(ordered[a][b]) << "graph " << i << ": " << a << " before " << b;
    for (std::uint32_t lane = 1; lane < lanes.n; ++lane) EXPECT_TRUE(lanes.is_waited_for[lanes.last[lane]]);
    for (std::size_t b = 0; b < n; ++b)
      for (std::uint32_t a : lanes.waits[b]) EXPECT_TRUE(lanes.is_waited_for[a]);
  }
  EXPECT_GT(most, 1u);
}

}  // namespace tarsia::graph
