// Plans that serve many shapes: runs are exact, plans few, and memory is that of the largest.
#include "graph/memory_buckets.h"

#include <latch>
#include <thread>

#include "graph/executable.h"
#include "tests/unit/graph/graph_fixture.h"

namespace tarsia::graph {

namespace {

/// A chain of n nodes that each need a buffer of their own.
Graph chain(int n) {
  Graph g;
  ValueId value = g.add_input("x", registry::unknown_meta());
  for (int i = 0; i < n; ++i) {
    OpNode node;
    node.op = "u_next";
    node.inputs = {value};
    value = g.node(g.add_op(std::move(node))).outputs[0];
  }
  g.add_output(value);
  return g;
}

std::vector<std::vector<float>> numbers(std::mt19937& random, std::size_t n_inputs, std::size_t n) {
  std::vector<std::vector<float>> inputs(n_inputs, std::vector<float>(n));
  for (std::vector<float>& input : inputs)
    for (float& x : input) x = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 8;
  return inputs;
}

class Buckets : public GraphTest {
 protected:
  registry::Ref<registry::OpEntry> dynamic(const Graph& g) {
    return make_op(g, {.is_dynamic = true}, &m_library);
  }
  registry::Ref<registry::Library> m_library;
};

TEST_F(Buckets, many_shapes_need_few_plans_and_one_arena) {
  const Graph g = chain(6);
  const auto op = dynamic(g);
  std::mt19937 random(3);
  std::vector<registry::Ref<registry::BoundOp>> kept;
  std::uint64_t largest = 0;
  for (std::int64_t n = 1000; n <= 4000; n += 10) {
    const auto bound = kept.emplace_back(bind(op, {meta({n})}));
    const auto inputs = numbers(random, 1, static_cast<std::size_t>(n));
    ASSERT_EQ(run(*bound, inputs), unplanned(g, inputs)) << n;
    for (const ArenaSize& size : executable_of(*bound)->plan().arenas)
      largest = std::max(largest, size.bytes);
  }
  // From 1000 to 4000 by quarters.
  EXPECT_LE(buckets_of(*op)->n_planned(), 8u);
  EXPECT_GE(buckets_of(*op)->n_planned(), 3u);
  EXPECT_EQ(buckets_of(*op)->pool().bytes(), largest);
}

TEST_F(Buckets, shapes_that_shrink_take_the_places_of_larger_ones_down_to_half) {
  const auto op = dynamic(chain(6));
  for (std::int64_t n = 40000; n > 21000; n -= 100) bind(op, {meta({n})});
  EXPECT_EQ(buckets_of(*op)->n_planned(), 1u);
  bind(op, {meta({100000})});
  EXPECT_EQ(buckets_of(*op)->n_planned(), 2u);
  bind(op, {meta({1000})});  // much too large a place for it would be a waste
  EXPECT_EQ(buckets_of(*op)->n_planned(), 3u);
}

TEST_F(Buckets, the_first_plan_is_exact) {
  const Graph g = chain(6);
  const auto op = dynamic(g);
  const auto shared = bind(op, {meta({5000})}), own = bind(g, {meta({5000})});
  EXPECT_EQ(executable_of(*shared)->plan().bytes, executable_of(*own)->plan().bytes);
  EXPECT_EQ(executable_of(*shared)->buckets(), buckets_of(*op));
  EXPECT_EQ(executable_of(*own)->buckets(), nullptr);
}

TEST_F(Buckets, runs_of_random_graphs_of_random_shapes_are_exact) {
  std::mt19937 random(17);
  for (int i = 0; i < 60; ++i) {
    const Graph g = random_graph(random, 1 + static_cast<int>(random() % 40));
    const auto op = dynamic(g);
    for (int call = 0; call < 12; ++call) {
      const auto n = static_cast<std::int64_t>(1 + random() % 3000);
      const auto bound = bind(op, {meta({n}), meta({n})});
      const auto inputs = numbers(random, 2, static_cast<std::size_t>(n));
      ASSERT_EQ(run(*bound, inputs), unplanned(g, inputs)) << "graph " << i << ", " << n;
      ASSERT_EQ(run(*bound, inputs), unplanned(g, inputs)) << "graph " << i << ", " << n << " again";
    }
  }
}

TEST_F(Buckets, no_place_of_a_plan_reaches_into_another_that_is_live) {
  std::mt19937 random(23);
  for (int i = 0; i < 40; ++i) {
    const Graph g = random_graph(random, 30);
    const auto op = dynamic(g);
    for (int call = 0; call < 8; ++call) {
      const auto n = static_cast<std::int64_t>(1 + random() % 5000);
      const auto bound = bind(op, {meta({n}), meta({n})});
      const MemoryPlan& plan = executable_of(*bound)->plan();
      for (const Buffer& a : plan.buffers) {
        if (a.arena != k_none) {
          ASSERT_LE(a.offset + a.bytes, plan.arenas[a.arena].bytes);
        }
        for (const Buffer& b : plan.buffers) {
          if (a.within != k_none && b.output == a.within) {
            ASSERT_LE(a.offset + a.bytes, b.bytes);
          }
          if (&a == &b || a.output != k_none || b.output != k_none) continue;
          if (a.last < b.first || b.last < a.first || a.within != b.within || a.arena != b.arena) continue;
          ASSERT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset) << "graph " << i;
        }
      }
    }
  }
}

TEST_F(Buckets, threads_that_call_with_shapes_of_their_own_do_not_disturb_each_other) {
  std::mt19937 random(29);
  const Graph g = random_graph(random, 25);
  const auto op = dynamic(g);
  std::vector<int> wrong(4, 0);
  std::latch start(static_cast<std::ptrdiff_t>(wrong.size()));
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      std::mt19937 own(200 + t);
      start.arrive_and_wait();
      for (int i = 0; i < 40; ++i) {
        const auto n = static_cast<std::int64_t>(1 + own() % 2000);
        const auto bound = bind(op, {meta({n}), meta({n})});
        const auto inputs = numbers(own, 2, static_cast<std::size_t>(n));
        wrong[t] += run(*bound, inputs) != unplanned(g, inputs);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(wrong, testing::Each(0));
}

}  // namespace

}  // namespace tarsia::graph
