// Graphs as text.
#include "graph/graph_json.h"

#include "tests/unit/graph/graph_fixture.h"

namespace tarsia::graph {

TEST_F(GraphTest, a_graph_that_was_written_and_read_computes_the_same) {
  std::mt19937 random(13);
  for (int i = 0; i < 30; ++i) {
    const Graph g = random_graph(random, 20);
    const std::string text = to_json(g);
    const Graph read = from_json(text);
    EXPECT_EQ(to_json(read), text);
    const std::vector<std::vector<float>> inputs{{1, -2, 3}, {4, 5, -6}};
    EXPECT_EQ(run(*bind(read, {meta({3}), meta({3})}), inputs),
              run(*bind(g, {meta({3}), meta({3})}), inputs));
  }
}

TEST_F(GraphTest, a_device_is_read_in_every_spelling_and_written_in_one) {
  const auto read = [](const std::string& device) {
    return from_json(
        R"({"format": "tarsia-graph", "version": 1, "outputs": [], "nodes": [)"
        R"({"name": "x", "kind": "input", "shape": null, "dtype": null, "storage": "dense"},)"
        R"({"name": "a", "kind": "op", "op": "u_twice", "inputs": ["x"], "attributes": {}, "device": ")" +
        device + R"("}]})");
  };
  for (const char* device : {"gpu:0", "gpu", "cuda", "cuda:0"})
    EXPECT_THAT(to_json(read(device)), testing::HasSubstr(R"("device": "gpu:0")")) << device;
  for (const char* device : {"tpu", "gpu:", "gpu:x"}) EXPECT_THROW(read(device), ArgumentError) << device;
}

TEST_F(GraphTest, text_that_is_no_graph_is_an_error_that_says_why) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      from_json(text);
    } catch (const ArgumentError& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  const std::string head = R"({"format": "tarsia-graph", "version": 1, "outputs": [], "nodes": [)";
  const std::string x = R"({"name": "x", "kind": "input", "shape": null, "dtype": null, "storage": "dense"})";
  EXPECT_THAT(error_of("{"), testing::HasSubstr("no JSON"));
  EXPECT_THAT(error_of(R"({"format": "tarsia-graph", "version": 2, "outputs": [], "nodes": []})"),
              testing::HasSubstr("version 2"));
  EXPECT_THAT(error_of(head + x + "," + x + "]}"), testing::HasSubstr("two nodes 'x'"));
  EXPECT_THAT(
      error_of(head + R"({"name": "a", "kind": "op", "op": "u_twice", "inputs": ["b"], "attributes": {}},)" +
               R"({"name": "b", "kind": "op", "op": "u_twice", "inputs": ["a"], "attributes": {}}]})"),
      testing::HasSubstr("depends on itself"));
  EXPECT_THAT(
      error_of(head +
               R"({"name": "a", "kind": "op", "op": "u_twice", "inputs": ["gone"], "attributes": {}}]})"),
      testing::HasSubstr("'a' refers to 'gone'"));
  EXPECT_THAT(
      error_of(
          head +
          R"({"name": "a", "kind": "input", "shape": null, "dtype": null, "storage": "dense", "more": 1}]})"),
      testing::AllOf(testing::HasSubstr("'a'"), testing::HasSubstr("unknown field 'more'")));
  EXPECT_THAT(error_of(std::string(1000, '[')), testing::HasSubstr("deeper"));
}

}  // namespace tarsia::graph
