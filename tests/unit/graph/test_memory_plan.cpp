// What every plan keeps to, on random graphs.
#include "graph/memory_plan.h"

#include "graph/executable.h"
#include "graph/lanes.h"
#include "registry/measure/measure.h"
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

TEST_F(GraphTest, copies_of_a_state_keep_their_order_with_what_changes_it) {
  const TestOp change("u_change", 1, 1, [](const tarsia_op_context&) {}, {}, nullptr, TARSIA_PORT_MUTABLE);
  const registry::Ref<registry::OpEntry> entry = registry::OpRegistry::instance().find("u_change");
  const tarsia_meta input = meta({4});
  tarsia_op_request request{};
  request.size = sizeof request;
  request.n_inputs = 1;
  request.inputs = &input;
  request.device = {TARSIA_CPU, 0};

  Program program;
  MemoryPlan plan;
  const auto add_slot = [&](Source source) {
    Slot slot;
    slot.meta = input;
    slot.source = source;
    program.slots.push_back(slot);
    plan.buffer_of.push_back(k_none);
    return static_cast<SlotId>(program.slots.size() - 1);
  };
  const auto add_step = [&](StepKind kind, SlotId from) {
    Step step;
    step.kind = kind;
    if (kind == StepKind::forward) step.bound = registry::bind(entry, request);
    step.inputs = {from};
    step.outputs = {add_slot(Source::planned)};
    step.add_to = {k_none};
    program.steps.push_back(step);
    plan.workspace_of.push_back(k_none);
  };
  const SlotId state = add_slot(Source::held);
  for (const StepKind kind : {StepKind::copy, StepKind::copy, StepKind::forward, StepKind::copy})
    add_step(kind, state);
  using testing::ElementsAre;
  EXPECT_THAT(dependencies_of(program, plan),
              ElementsAre(ElementsAre(), ElementsAre(), ElementsAre(0u, 1u), ElementsAre(2u)));
}

TEST_F(GraphTest, the_lanes_order_every_step_behind_what_it_depends_on) {
  std::mt19937 random(5);
  std::uint32_t most = 1;
  for (int i = 0; i < 300; ++i) {
    const Graph g = random_graph(random, 1 + static_cast<int>(random() % 60));
    const auto bound = bind(g, {meta({100}), meta({100})});
    Program program = executable_of(*bound)->program();
    const MemoryPlan& plan = executable_of(*bound)->plan();
    const std::int32_t n_gpus = 1 + i % 3, home = i % 4 == 3 ? 7 : 0;
    for (Step& step : program.steps)
      step.device = {TARSIA_GPU, static_cast<std::int32_t>(random() % static_cast<unsigned>(n_gpus))};
    const Lanes lanes = assign_lanes(program, plan, home);
    EXPECT_EQ(lanes.gpu[0], home);
    for (std::size_t s = 0; s < program.steps.size(); ++s)
      ASSERT_EQ(lanes.gpu[lanes.lane[s]], program.steps[s].device.id) << "graph " << i << ", step " << s;
    for (std::int32_t gpu = 0; gpu < n_gpus; ++gpu)
      EXPECT_LE(std::ranges::count(lanes.gpu, gpu), k_most_lanes);
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
  EXPECT_GT(most, 4u);
}

// Copies from and to the CPU have waited.
TEST_F(GraphTest, steps_on_the_cpu_are_in_no_lane_and_are_not_waited_for) {
  Graph g;
  const ValueId x = g.add_input("x", registry::unknown_meta());
  ValueId v = x;
  for (int i = 0; i < 4; ++i) {
    OpNode node;
    node.op = "u_next";
    node.inputs = {v};
    v = g.node(g.add_op(std::move(node))).outputs[0];
  }
  g.add_output(v);
  const auto bound = bind(g, {meta({100})});
  Program program = executable_of(*bound)->program();
  const tarsia_device devices[] = {{TARSIA_GPU, 1}, {TARSIA_CPU, 0}, {TARSIA_GPU, 0}, {TARSIA_GPU, 1}};
  for (std::size_t s = 0; s < 4; ++s) program.steps[s].device = devices[s];
  const Lanes lanes = assign_lanes(program, executable_of(*bound)->plan(), 0);
  EXPECT_THAT(lanes.lane, testing::ElementsAre(1u, k_none, 0u, 2u));
  EXPECT_THAT(lanes.gpu, testing::ElementsAre(0, 1, 1));
  EXPECT_THAT(lanes.last, testing::ElementsAre(2u, 0u, 3u));
  EXPECT_TRUE(lanes.waits[1].empty());
  for (const std::vector<std::uint32_t>& waits : lanes.waits)
    EXPECT_THAT(waits, testing::Not(testing::Contains(1u)));
  EXPECT_FALSE(lanes.is_waited_for[1]);
}

}  // namespace tarsia::graph
