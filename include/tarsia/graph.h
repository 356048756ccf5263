// Graphs of ops for programs: built from values, bound like an op. docs/graph.md describes graphs.
//
//   tarsia::Graph g;
//   const tarsia::GraphValue x = g.input("x");
//   g.output(g.add("relu", {g.add("scale", {x}, {{"factor", 2.0}})}));
//   const tarsia::BoundOp bound = g.bind({tensor});
//   const tarsia::Tensor y = bound({tensor})[0];
#pragma once

#include <tarsia/bound_op.h>
#include <tarsia/c_graph.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarsia {

/// A value of a graph: its number there.
struct GraphValue {
  tarsia_graph_value number = TARSIA_NO_VALUE;  ///< TARSIA_NO_VALUE: an optional input that is absent
};

/// A graph of registered ops. One thread at a time builds it; what is const may be called from several.
class Graph {
 public:
  /// Makes an empty graph.
  Graph() { detail::check(tarsia_graph_create(&m_graph)); }
  Graph(Graph&& o) noexcept : m_graph(std::exchange(o.m_graph, nullptr)) {}
  Graph& operator=(Graph&& o) noexcept {
    std::swap(m_graph, o.m_graph);
    return *this;
  }
  ~Graph() { tarsia_graph_free(m_graph); }

  /// Adds a dense input, whose shape and dtype are known when the graph is bound. Throws ArgumentError for a
  /// name that is taken.
  GraphValue input(const std::string& name) {
    GraphValue value;
    detail::check(tarsia_graph_input(m_graph, name.c_str(), nullptr, &value.number));
    return value;
  }
  /// Adds a tensor that never changes. The graph shares it. Throws ArgumentError, also for one that owns no
  /// memory.
  GraphValue constant(const Tensor& tensor, const std::string& name = "") {
    return add_tensor(TARSIA_GRAPH_CONSTANT, tensor, name);
  }
  /// Adds a tensor that its owner may change between calls. The graph shares it. Throws what constant()
  /// throws.
  GraphValue parameter(const Tensor& tensor, const std::string& name = "") {
    return add_tensor(TARSIA_GRAPH_PARAMETER, tensor, name);
  }
  /// Adds a tensor that ops of the graph change. The graph shares it. Throws what constant() throws.
  GraphValue state(const Tensor& tensor, const std::string& name = "") {
    return add_tensor(TARSIA_GRAPH_STATE, tensor, name);
  }

  /// Adds an op and returns all of its outputs that callers get. An empty name stands for one made from the
  /// op's. Throws NotFound, and ArgumentError for attributes and numbers of inputs that it does not take.
  std::vector<GraphValue> add_all(const std::string& op, const std::vector<GraphValue>& inputs,
                                  const Attributes& attributes = {}, const std::string& name = "") {
    std::vector<tarsia_graph_value> numbers;
    for (GraphValue input : inputs) numbers.push_back(input.number);
    detail::Lists lists;
    std::vector<const char*> names;
    std::vector<tarsia_value> values;
    for (const auto& [key, value] : attributes) {
      names.push_back(key.c_str());
      values.push_back(std::visit([&](const auto& v) { return detail::to_value(v, lists); }, value));
    }
    tarsia_graph_node node{};
    node.size = sizeof(node);
    node.op = op.c_str();
    node.name = name.empty() ? nullptr : name.c_str();
    node.n_inputs = static_cast<uint32_t>(numbers.size());
    node.inputs = numbers.data();
    node.n_attributes = static_cast<uint32_t>(names.size());
    node.attribute_names = names.data();
    node.attributes = values.data();
    std::vector<tarsia_graph_value> outputs(1024);
    auto n = static_cast<uint32_t>(outputs.size());
    detail::check(tarsia_graph_add(m_graph, &node, outputs.data(), &n));
    std::vector<GraphValue> made;
    for (uint32_t i = 0; i < n; ++i) made.push_back({outputs[i]});
    return made;
  }
  /// Adds an op and returns its first output. Throws what add_all() throws.
  GraphValue add(const std::string& op, const std::vector<GraphValue>& inputs,
                 const Attributes& attributes = {}, const std::string& name = "") {
    return add_all(op, inputs, attributes, name).at(0);
  }

  /// Makes a value a result. Results come in the order of these calls. Throws ArgumentError for a name that
  /// is taken.
  void output(GraphValue value, const std::string& name = "") {
    detail::check(tarsia_graph_output(m_graph, value.number, name.empty() ? nullptr : name.c_str()));
  }
  /// Adds the gradient of `loss`, weighted by `seed` (by default ones), with respect to each value of `wrt`.
  /// Throws Unsupported for an op without backward, and ArgumentError.
  std::vector<GraphValue> gradient(GraphValue loss, const std::vector<GraphValue>& wrt,
                                   GraphValue seed = {}) {
    std::vector<tarsia_graph_value> numbers, found(wrt.size());
    for (GraphValue value : wrt) numbers.push_back(value.number);
    detail::check(tarsia_graph_gradient(m_graph, loss.number, seed.number, numbers.data(),
                                        static_cast<uint32_t>(numbers.size()), found.data()));
    std::vector<GraphValue> gradients;
    for (tarsia_graph_value value : found) gradients.push_back({value});
    return gradients;
  }

  /// Infers, chooses implementations and plans memory for tensors of these shapes, on their device. The bound
  /// op takes the graph's inputs in their order and gives its outputs; calls may overlap. Throws what
  /// Op::bind throws, and ArgumentError for a graph without outputs.
  BoundOp bind(const std::vector<Tensor>& inputs, tarsia_choice choice = TARSIA_CHOICE_OF_PROCESS) const {
    tarsia_op_handle* op = nullptr;
    tarsia_library* library = nullptr;
    detail::check(tarsia_graph_op(m_graph, nullptr, 0, &op, &library));
    tarsia_library_release(library);  // the op keeps it
    return Op::own(op).bind(inputs, {}, choice);
  }

  /// Writes the graph as JSON, its tensors included.
  std::string to_json() const {
    char* text = nullptr;
    detail::check(tarsia_graph_to_json(m_graph, &text));
    return taken(text);
  }
  /// Reads what to_json() wrote. Throws ArgumentError that names the node, and NotFound for an op.
  static Graph from_json(std::string_view text) {
    tarsia_graph* graph = nullptr;
    detail::check(tarsia_graph_from_json(text.data(), text.size(), &graph));
    return Graph(graph);
  }

  /// Describes the plan of a graph's bound op as JSON; docs/graph.md says what is in it. Throws ArgumentError
  /// for other bound ops.
  static std::string plan(const BoundOp& bound) {
    char* text = nullptr;
    detail::check(tarsia_graph_plan(bound.get(), &text));
    return taken(text);
  }
  /// Draws the plan as SVG: memory over time. Throws what plan() throws.
  static std::string plan_svg(const BoundOp& bound) {
    char* text = nullptr;
    detail::check(tarsia_graph_plan_svg(bound.get(), &text));
    return taken(text);
  }

  /// The handle of the C interface, borrowed.
  tarsia_graph* get() const { return m_graph; }

 private:
  explicit Graph(tarsia_graph* graph) : m_graph(graph) {}
  static std::string taken(char* text) {
    const std::string copy = text;
    tarsia_free(text);
    return copy;
  }
  GraphValue add_tensor(tarsia_graph_tensor_kind kind, const Tensor& tensor, const std::string& name) {
    if (!tensor.storage())
      detail::wrong_tensor("a tensor of a graph owns its memory: make it with tarsia::empty");
    GraphValue value;
    detail::check(tarsia_graph_tensor(m_graph, kind, name.empty() ? nullptr : name.c_str(), tensor.storage(),
                                      &value.number));
    return value;
  }

  tarsia_graph* m_graph = nullptr;
};

}  // namespace tarsia
