// Graphs as C++ programs build them.
#include <gmock/gmock.h>
#include <tarsia/tarsia.h>

#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/api/error_of.h"

namespace {

using tarsia::Graph;
using tarsia::GraphValue;
using tarsia::Tensor;
using testing::ElementsAre;
using testing::HasSubstr;

class GraphFace : public testing::Test {
 protected:
  const tarsia::Library ops = tarsia::load(TARSIA_TEST_MODULES "/math_ops.so");
  const Tensor vector = tarsia::tensor<float>({1, -2, 4});

  /// The results of `build` for `vector`.
  std::vector<float> result_of(const std::function<GraphValue(GraphValue)>& build) {
    Graph g;
    g.output(build(g.input("x")));
    return tarsia::to_vector<float>(g.bind({vector})({vector}).at(0));
  }
};

TEST_F(GraphFace, operators_add_nodes) {
  EXPECT_THAT(result_of([](GraphValue x) { return x + x; }), ElementsAre(2, -4, 8));
  EXPECT_THAT(result_of([](GraphValue x) { return x - 1; }), ElementsAre(0, -3, 3));
  EXPECT_THAT(result_of([](GraphValue x) { return 1 - x; }), ElementsAre(0, 3, -3));
  EXPECT_THAT(result_of([](GraphValue x) { return 2.5f * x; }), ElementsAre(2.5, -5, 10));
  EXPECT_THAT(result_of([](GraphValue x) { return 8u / x; }), ElementsAre(8, -4, 2));
  EXPECT_THAT(result_of([](GraphValue x) { return x / -2.0; }), ElementsAre(-0.5, 1, -2));
  EXPECT_THAT(result_of([](GraphValue x) { return -x * x + abs(x); }), ElementsAre(0, -2, -12));
}

TEST_F(GraphFace, comparisons_give_bools) {
  Graph g;
  const GraphValue x = g.input("x");
  for (const GraphValue& y : {x < 1, x <= 1, x > 1, x >= 1, 1 < x}) g.output(y);
  const std::vector<Tensor> y = g.bind({vector})({vector});
  const auto bools = [&](std::size_t i) {
    const bool* values = y.at(i).data<const bool>();
    return std::vector<int>(values, values + 3);
  };
  EXPECT_THAT(bools(0), ElementsAre(0, 1, 0));
  EXPECT_THAT(bools(1), ElementsAre(1, 1, 0));
  EXPECT_THAT(bools(2), ElementsAre(0, 0, 1));
  EXPECT_THAT(bools(3), ElementsAre(1, 0, 1));
  EXPECT_THAT(bools(4), ElementsAre(0, 0, 1));
}

TEST_F(GraphFace, a_number_takes_the_dtype_of_the_value) {
  Graph g;
  g.output(g.input("x") * 3);
  const Tensor x = tarsia::tensor<int64_t>({1, 2});
  EXPECT_THAT(tarsia::to_vector<int64_t>(g.bind({x})({x}).at(0)), ElementsAre(3, 6));
  Graph half;
  half.output(half.input("x") * 0.5);
  EXPECT_THAT(error_of([&] { half.bind({x}); }), HasSubstr("value is no whole number, and x is int64"));
}

TEST_F(GraphFace, a_number_that_no_double_holds_is_an_error_and_adds_no_node) {
  Graph g;
  const GraphValue x = g.input("x");
  g.output(x);
  const std::string before = g.to_json();
  const int64_t odd = (int64_t{1} << 53) + 1;
  const std::string text = "graph, add: the number has more digits than a double; put it in as a constant";
  EXPECT_EQ(error_of([&] { (void)(x + odd); }), text);
  EXPECT_EQ(error_of([&] { (void)(odd + x); }), text);
  EXPECT_EQ(error_of([&] { (void)(x + std::numeric_limits<int64_t>::max()); }), text);
  EXPECT_EQ(error_of([&] { (void)(x + std::numeric_limits<uint64_t>::max()); }), text);
  EXPECT_EQ(g.to_json(), before);
  EXPECT_EQ(error_of([&] { (void)(x + std::numeric_limits<int64_t>::min()); }), "no error");
}

TEST_F(GraphFace, values_of_two_graphs_do_not_go_together) {
  Graph g, other;
  const GraphValue x = g.input("x"), y = other.input("y");
  const char* text = "a value of another graph cannot be used here";
  EXPECT_THAT(error_of([&] { (void)(x + y); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { (void)g.add("add", {x, y}); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { g.output(y); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { (void)g.gradient(x, {y}); }), HasSubstr(text));
  EXPECT_THAT(error_of([&] { (void)g.gradient(y, {x}); }), HasSubstr(text));
}

TEST_F(GraphFace, an_absent_value_has_no_operators) {
  Graph g;
  const GraphValue x = g.input("x"), none;
  for (const std::function<void()>& call :
       std::vector<std::function<void()>>{[&] { (void)(x + none); }, [&] { (void)(none + x); },
                                          [&] { (void)(none * 2); }, [&] { (void)(2 * none); }})
    EXPECT_THAT(error_of(call), HasSubstr("an absent value has no operators"));
  EXPECT_THAT(error_of([&] { (void)-none; }), HasSubstr("graph, negative: an absent value has no operators"));
}

TEST_F(GraphFace, values_outlive_a_move_of_their_graph) {
  Graph g;
  const GraphValue x = g.input("x");
  Graph moved = std::move(g);
  moved.output(x + 1);
  EXPECT_THAT(tarsia::to_vector<float>(moved.bind({vector})({vector}).at(0)), ElementsAre(2, -1, 5));
}

TEST_F(GraphFace, an_input_tells_what_is_known_of_it) {
  Graph g;
  g.output(g.input("x", {.shape = {{-1, 2}}, .dtype = tarsia::float32}) + 1);
  const Tensor good = tarsia::tensor<float>({1, 2, 3, 4}, {2, 2});
  EXPECT_THAT(tarsia::to_vector<float>(g.bind({good})({good}).at(0)), ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(error_of([&] { g.bind({vector}); }), HasSubstr("x"));
  EXPECT_THAT(error_of([&] { g.bind({tarsia::tensor<double>({1, 2}, {1, 2})}); }), HasSubstr("float64"));
  EXPECT_THAT(error_of([&] { g.input("deep", {.shape = std::vector<int64_t>(100, 1)}); }),
              HasSubstr("graph, input 'deep': a tensor has"));
  EXPECT_THAT(error_of([&] { g.input("x"); }), HasSubstr("'x'"));
}

TEST_F(GraphFace, gradients_of_operators) {
  Graph g;
  const GraphValue x = g.input("x");
  g.output(g.gradient(x * x + 3 * x, {x}).at(0));
  EXPECT_THAT(tarsia::to_vector<float>(g.bind({vector})({vector}).at(0)), ElementsAre(5, -1, 11));
}

TEST_F(GraphFace, a_registered_graph_is_an_op_until_it_is_unloaded) {
  Graph g;
  const GraphValue x = g.input("x");
  g.output(2 * x + 1);
  {
    const tarsia::Library library = g.register_as("face_double_plus_one", true);
    Graph outer;
    const GraphValue z = outer.input("z");
    const GraphValue y = outer.add("face_double_plus_one", {z});
    outer.output(y);
    outer.output(outer.gradient(y, {z}).at(0));
    const std::vector<Tensor> results = outer.bind({vector})({vector});
    EXPECT_THAT(tarsia::to_vector<float>(results.at(0)), ElementsAre(3, -3, 9));
    EXPECT_THAT(tarsia::to_vector<float>(results.at(1)), ElementsAre(2, 2, 2));
    library.unload();
  }
  EXPECT_THROW(tarsia::Op("face_double_plus_one"), tarsia::NotFound);
}

TEST_F(GraphFace, a_graph_is_not_made_of_itself) {
  Graph g;
  g.output(abs(g.input("x")));
  EXPECT_THAT(error_of([&] { g.register_as("abs"); }), HasSubstr("'abs' would be made of itself"));
  // Two that are made of each other.
  const tarsia::Library first = g.register_as("face_first");
  Graph second;
  second.output(second.add("face_first", {second.input("x")}));
  const tarsia::Library other = second.register_as("face_second");
  Graph again;
  again.output(again.add("face_second", {again.input("x")}));
  const tarsia::Library circle = again.register_as("face_first");
  EXPECT_THAT(error_of([&] { tarsia::Op("face_second").bind({vector}); }),
              HasSubstr("would be made of itself"));
  for (const tarsia::Library& library : {other, circle}) library.unload();
}

TEST_F(GraphFace, an_op_of_a_graph_has_a_backward_if_asked) {
  Graph g;
  const GraphValue x = g.input("x");
  g.output(x * x);
  EXPECT_FALSE(g.op().bind({vector}).has_backward());
  EXPECT_TRUE(g.op(true).bind({vector}).has_backward());
}

TEST_F(GraphFace, bindings_for_many_shapes_share_plans_and_memory) {
  Graph g;
  const GraphValue x = g.input("x");
  const GraphValue y = x + 1;
  g.output(abs(y) * (y * y));
  const tarsia::Op op = g.dynamic_op();
  EXPECT_EQ(Graph::shared(op).plans, 0u);
  for (int64_t n = 1000; n <= 4000; n += 10) {
    const Tensor given = tarsia::tensor<float>(std::vector<float>(std::size_t(n), -3));
    EXPECT_THAT(tarsia::to_vector<float>(op({given}).at(0)), testing::Each(8));
  }
  const Graph::Shared shared = Graph::shared(op);
  EXPECT_GE(shared.plans, 2u);
  EXPECT_LE(shared.plans, 8u);
  EXPECT_GE(shared.kept_bytes, 4000 * sizeof(float));
  EXPECT_LE(shared.kept_bytes, 4 * 4000 * sizeof(float));
  EXPECT_THAT(error_of([&] { Graph::shared(g.op()); }), HasSubstr("TARSIA_GRAPH_DYNAMIC"));
  const tarsia::Op differentiable = g.dynamic_op(true);
  EXPECT_TRUE(differentiable.bind({vector}).has_backward());
}

TEST_F(GraphFace, inference_tells_what_is_known_of_each_value) {
  Graph g;
  const GraphValue x = g.input("x"), w = g.input("w");
  const GraphValue y = g.add("less", {x + w, x});
  const std::vector<tarsia::GraphInput> none = g.infer({{}, {}});
  ASSERT_EQ(none.size(), 4u);
  EXPECT_FALSE(none[y.number].shape);
  const std::vector<tarsia::GraphInput> known =
      g.infer({{.shape = {{2, 3}}, .dtype = tarsia::float32}, {.shape = {{3}}, .dtype = tarsia::float32}});
  EXPECT_THAT(known[y.number].shape.value(), ElementsAre(2, 3));
  EXPECT_EQ(known[y.number].dtype.value().code, TARSIA_BOOL);
  EXPECT_THAT(
      error_of([&] {
        g.infer({{.shape = {{2, 3}}, .dtype = tarsia::float32}, {.shape = {{4}}, .dtype = tarsia::float32}});
      }),
      HasSubstr("add"));
  EXPECT_THAT(error_of([&] { g.infer({}); }), HasSubstr("it has 2 inputs, not 0"));
}

TEST_F(GraphFace, a_node_says_where_it_runs) {
  Graph g;
  const GraphValue x = g.input("x");
  g.output(g.add("add", {x, x}, {}, "here", tarsia::cpu_device()), "y");
  EXPECT_THAT(g.to_json(), HasSubstr("\"device\": \"cpu\""));
  const tarsia::BoundOp bound = g.bind({vector});
  EXPECT_THAT(Graph::plan(bound), HasSubstr("\"here\""));
  EXPECT_THAT(Graph::plan_svg(bound), HasSubstr("<svg"));
}

TEST_F(GraphFace, only_a_run_on_a_gpu_is_captured) {
  Graph g;
  g.output(abs(g.input("x")));
  EXPECT_THAT(error_of<tarsia::Unsupported>([&] { g.capture({vector}); }),
              HasSubstr("it is bound to the CPU"));
}

TEST_F(GraphFace, json_is_the_same_graph) {
  Graph g;
  g.output(abs(g.input("x")) + g.parameter(tarsia::tensor<float>({10, 20, 30}), "w"), "y");
  const Graph again = Graph::from_json(g.to_json());
  EXPECT_EQ(again.to_json(), g.to_json());
  EXPECT_THAT(tarsia::to_vector<float>(again.bind({vector})({vector}).at(0)), ElementsAre(11, 22, 34));
  EXPECT_THAT(error_of([] { Graph::from_json("{}"); }), HasSubstr("graph, JSON"));
}

}  // namespace
