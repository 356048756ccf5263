// Graphs whose branches run at the same time, against values computed one by one.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "graph/executable.h"
#include "registry/loader.h"
#include "registry/resources/parallel.h"
#include "tests/unit/graph/graph_fixture.h"

namespace tarsia::graph {

namespace {

constexpr std::size_t k_n = 77;

/// With ops of a compiled library, whose steps are heavy at any size.
class FlowRuns : public GraphTest {
 public:
  FlowRuns() { ::setenv("TARSIA_FLOW_SIZE_MB", "0", 1); }
  ~FlowRuns() override { ::unsetenv("TARSIA_FLOW_SIZE_MB"); }
  FlowRuns(const FlowRuns&) = delete;

 protected:
  registry::Ref<registry::Library> m_ops = registry::load_file(TARSIA_TEST_MODULES "/graph_ops.so");
};

Program program_of(const registry::BoundOp& bound) {
  return executable_of(bound)->program();
}

}  // namespace

TEST_F(FlowRuns, random_graphs_give_the_same_bits) {
  std::mt19937 random(17);
  for (int i = 0; i < 60; ++i) {
    const Graph g = random_graph(random, 2 + static_cast<int>(random() % 40), "m_");
    const auto bound = bind(g, {meta({k_n}), meta({k_n})});
    for (int call = 0; call < 4; ++call) {
      const auto inputs = random_inputs(random, k_n);
      ASSERT_EQ(run(*bound, inputs), unplanned(g, inputs)) << "graph " << i;
    }
  }
}

TEST_F(FlowRuns, calls_of_several_threads_give_the_same_bits) {
  std::mt19937 random(19);
  const Graph g = random_graph(random, 30, "m_");
  const auto bound = bind(g, {meta({k_n}), meta({k_n})});
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (unsigned t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      std::mt19937 own(200 + t);
      for (int i = 0; i < 20; ++i) {
        const auto inputs = random_inputs(own, k_n);
        wrong[t] += run(*bound, inputs) != unplanned(g, inputs);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

TEST_F(FlowRuns, a_forked_child_runs_the_steps_one_after_the_other) {
  std::mt19937 random(23);
  const Graph g = random_graph(random, 30, "m_");
  const auto bound = bind(g, {meta({k_n}), meta({k_n})});
  const auto inputs = random_inputs(random, k_n);
  const auto expected = unplanned(g, inputs);
  ASSERT_EQ(run(*bound, inputs), expected);
  const pid_t child = fork();
  if (child == 0) {
    const bool ok =
        run(*bound, inputs) == expected && run(*bind(g, {meta({k_n}), meta({k_n})}), inputs) == expected;
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST_F(FlowRuns, only_programs_with_two_heavy_steps_that_have_no_order_pay) {
  const auto edges = [&](const Graph& g) {
    const auto bound = bind(g, {meta({k_n})});
    const Program program = program_of(*bound);
    return flow_edges(program, plan_memory(program));
  };
  const auto graph = [](const char* op) {
    Graph g;
    const ValueId x = g.add_input("x", registry::unknown_meta());
    for (int i = 0; i < 2; ++i) {
      OpNode node;
      node.op = op;
      node.inputs = {x};
      g.add_output(g.node(g.add_op(std::move(node))).outputs[0]);
    }
    return g;
  };
  const Graph branches = graph("m_next");
  EXPECT_TRUE(edges(branches).has_value());
  EXPECT_FALSE(edges(graph("u_next")).has_value());  // of no compiled library
  Graph chain;
  ValueId value = chain.add_input("x", registry::unknown_meta());
  for (int i = 0; i < 3; ++i) {
    OpNode node;
    node.op = "m_next";
    node.inputs = {value};
    value = chain.node(chain.add_op(std::move(node))).outputs[0];
  }
  chain.add_output(value);
  EXPECT_FALSE(edges(chain).has_value());
  ::setenv("TARSIA_FLOW_SIZE_MB", "1", 1);
  EXPECT_FALSE(edges(branches).has_value());
  ::setenv("TARSIA_FLOW_SIZE_MB", "many", 1);
  EXPECT_THROW(edges(branches), ArgumentError);
}

}  // namespace tarsia::graph
