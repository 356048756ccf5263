// Planned runs against values computed one by one, in memory of their own.
#include <thread>

#include "graph/executable.h"
#include "tests/unit/graph/graph_fixture.h"

namespace tarsia::graph {

namespace {

constexpr std::size_t k_n = 33;  // not a multiple of the alignment

}  // namespace

TEST_F(GraphTest, planned_runs_of_random_graphs_equal_unplanned_ones_bit_for_bit) {
  std::mt19937 random(7);
  for (int i = 0; i < 150; ++i) {
    const Graph g = random_graph(random, 1 + static_cast<int>(random() % 40));
    const auto bound = bind(g, {meta({k_n}), meta({k_n})});
    for (int call = 0; call < 3; ++call) {
      const auto inputs = random_inputs(random, k_n);
      ASSERT_EQ(run(*bound, inputs), unplanned(g, inputs)) << "graph " << i;
    }
  }
}

TEST_F(GraphTest, calls_of_several_threads_have_memory_of_their_own) {
  std::mt19937 random(11);
  const Graph g = random_graph(random, 30);
  const auto bound = bind(g, {meta({k_n}), meta({k_n})});
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (unsigned t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      std::mt19937 own(100 + t);
      for (int i = 0; i < 50; ++i) {
        const auto inputs = random_inputs(own, k_n);
        wrong[t] += run(*bound, inputs) != unplanned(g, inputs);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST_F(GraphTest, an_op_that_fails_is_named_and_the_graph_runs_again) {
  static bool s_fails = true;
  const TestOp fails("u_fails", 1, 1, [](const tarsia_op_context& c) {
    if (s_fails) throw OpError("no luck");
    floats(c.outputs[0])[0] = floats(c.inputs[0])[0];
  });
  Graph g;
  OpNode node;
  node.op = "u_fails";
  node.name = "the_culprit";
  node.inputs = {g.add_input("x", registry::unknown_meta())};
  g.add_output(g.node(g.add_op(std::move(node))).outputs[0]);
  const auto bound = bind(g, {meta({1})});
  s_fails = true;
  try {
    run(*bound, {{4}});
    FAIL() << "nothing was thrown";
  } catch (const OpError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("node 'the_culprit'"));
  }
  s_fails = false;
  EXPECT_EQ(run(*bound, {{4}})[0][0], 4);
}

}  // namespace tarsia::graph
