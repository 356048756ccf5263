// Reverse accumulation over the nodes, from the last to the first (Griewank and Walther, Evaluating
// Derivatives, chapter 3).
#include "graph/gradient.h"

#include <algorithm>

#include "base/error.h"
#include "registry/op/needs.h"
#include "registry/op/op_registry.h"

namespace tarsia::graph {

namespace {

bool has_backward(const tarsia_op& op) {
  return std::any_of(op.implementations, op.implementations + op.n_implementations,
                     [](const tarsia_implementation& i) { return i.pass == TARSIA_BACKWARD; });
}

/// Whether the op of a node declares that its input i has a gradient.
bool has_gradient(const Node& node, std::size_t i) {
  return !(node.flags[i] & (TARSIA_PORT_MUTABLE | TARSIA_PORT_NO_GRADIENT));
}

class Reverse {
 public:
  explicit Reverse(Graph& graph)
      : m_graph(graph),
        m_n_nodes(static_cast<NodeId>(graph.nodes().size())),
        m_gradient(graph.values().size(), k_none),
        m_leads(graph.nodes().size(), false),
        m_last_change(graph.values().size(), k_none) {
    for (NodeId id = 0; id < m_n_nodes; ++id) {
      const Node& node = graph.node(id);
      for (std::size_t i = 0; node.kind == NodeKind::op && i < node.inputs.size(); ++i)
        if (node.inputs[i] != k_none && node.flags[i] & TARSIA_PORT_MUTABLE)
          m_last_change[node.inputs[i]] = id;
    }
  }

  std::vector<ValueId> run(std::span<const Seed> seeds, std::span<const ValueId> wrt) {
    for (ValueId value : wrt) require_gradient(value);

    // 1. Find the nodes through which a value of `wrt` reaches others.
    mark(wrt);

    // 2. Begin with the seeds.
    for (const Seed& seed : seeds) {
      m_graph.require(seed.value);
      if (seed.gradient != k_none) m_graph.require(seed.gradient);
      add(seed.value, seed.gradient == k_none ? m_graph.add_fill(seed.value, 1) : seed.gradient);
    }

    // 3. Go back from the last node to the first.
    for (NodeId id = m_n_nodes; id-- > 0;)
      if (m_leads[id]) go_back_through(id);

    // 4. Collect.
    std::vector<ValueId> gradients;
    for (ValueId value : wrt) {
      if (m_gradient[value] == k_none) m_gradient[value] = m_graph.add_fill(value, 0);
      gradients.push_back(m_gradient[value]);
    }
    return gradients;
  }

 private:
  void require_gradient(ValueId value) const {
    m_graph.require(value);
    if (m_graph.node_of(value).kind == NodeKind::state)
      throw ArgumentError::value_error("graph: the state '" + m_graph.value_name(value) +
                                       "' has no gradient: ops change it");
  }

  void mark(std::span<const ValueId> wrt) {
    m_is_reached.assign(m_graph.values().size(), false);
    for (ValueId value : wrt) m_is_reached[value] = true;
    for (NodeId id = 0; id < m_n_nodes; ++id) {
      const Node& node = m_graph.node(id);
      if (node.kind != NodeKind::op && node.kind != NodeKind::sum && node.kind != NodeKind::gradient)
        continue;
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        if (node.inputs[i] != k_none && m_is_reached[node.inputs[i]]) m_leads[id] = true;
      for (ValueId output : node.outputs)
        if (output != k_none && m_leads[id]) m_is_reached[output] = true;
    }
  }

  void go_back_through(NodeId id) {
    // A copy: adding nodes moves the graph's own.
    const Node node = m_graph.node(id);
    const bool is_used = std::ranges::any_of(
        node.outputs, [&](ValueId output) { return output != k_none && m_gradient[output] != k_none; });
    if (!is_used) return;
    if (node.kind == NodeKind::sum) {
      for (ValueId input : node.inputs) add(input, m_gradient[node.outputs[0]]);
      return;
    }
    if (node.kind == NodeKind::gradient)
      throw Unsupported("graph, node '" + node.name +
                        "': the gradient of a gradient is not known: ops declare first gradients alone");
    const registry::Ref<registry::OpEntry> entry = registry::OpRegistry::instance().find(node.op);
    const tarsia_op& op = entry->op();
    std::vector<bool> is_wanted;
    bool any = false;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      is_wanted.push_back(node.inputs[i] != k_none && has_gradient(node, i) && m_is_reached[node.inputs[i]]);
      any |= is_wanted.back();
    }
    if (!any) return;
    if (!has_backward(op))
      throw Unsupported("graph, node '" + node.name + "': op '" + node.op + "' has no backward");

    // What its backward needs: the output gradients, with zeros where an output has no use and nothing where
    // nobody else has it, the inputs and the outputs.
    const std::vector<std::uint8_t> needs = registry::declared_needs(
        op, static_cast<std::uint32_t>(node.inputs.size()), static_cast<std::uint32_t>(node.outputs.size()));
    const std::size_t n_outputs = node.outputs.size();
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (needs[n_outputs + i]) require_unchanged(id, i);
    std::vector<ValueId> inputs;
    const auto take = [&](auto&& value) { inputs.push_back(needs[inputs.size()] ? value() : k_none); };
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      take([&] {
        const bool is_hidden = node.hidden[i];
        const ValueId gradient = m_gradient[node.outputs[i]];
        return gradient == k_none && !is_hidden ? m_graph.add_fill(node.outputs[i], 0) : gradient;
      });
    for (const ValueId input : node.inputs) take([&] { return input; });
    for (const ValueId output : node.outputs) take([&] { return output; });

    // A value that already has a gradient, made by a node of this gradient alone, is added to in place. A
    // value that the node takes twice gets two gradients, which are summed up afterwards.
    std::vector<ValueId> add_to(node.inputs.size(), k_none);
    std::vector<bool> is_apart(node.inputs.size(), false);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_wanted[i]) continue;
      is_apart[i] = std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                              node.inputs[i]) != node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
      if (!is_apart[i]) add_to[i] = m_gradient[node.inputs[i]];
    }
    const NodeId made = m_graph.add_gradient(id, std::move(inputs), is_wanted, std::move(add_to));
    const std::vector<ValueId> outputs = m_graph.node(made).outputs;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] == k_none) continue;
      if (is_apart[i])
        add(node.inputs[i], outputs[i]);
      else
        m_gradient[node.inputs[i]] = outputs[i];
    }
  }

  /// Throws ArgumentError if a later node changes what the backward of a node reads once more.
  void require_unchanged(NodeId id, std::size_t i) const {
    const Node& node = m_graph.node(id);
    const ValueId value = node.inputs[i];
    if (value == k_none || node.flags[i] & TARSIA_PORT_MUTABLE) return;
    const NodeId changer = m_last_change[value];
    if (changer == k_none || changer <= id) return;
    throw ArgumentError::value_error("graph, node '" + node.name + "': its backward reads '" +
                                     m_graph.value_name(value) + "', which node '" +
                                     m_graph.node(changer).name +
                                     "' changes before that: give it a copy, of the op 'identity'");
  }

  /// Adds a contribution to a value's gradient.
  void add(ValueId value, ValueId gradient) {
    if (m_gradient[value] != k_none) gradient = m_graph.add_sum(m_gradient[value], gradient);
    m_gradient[value] = gradient;
  }

  Graph& m_graph;
  const NodeId m_n_nodes;
  std::vector<ValueId> m_gradient;    ///< of each value; k_none: none so far
  std::vector<bool> m_leads;          ///< of each node: whether its outputs depend on a value of `wrt`
  std::vector<NodeId> m_last_change;  ///< of each value: the last node whose op changes it, or k_none
  std::vector<bool> m_is_reached;     ///< of each value: whether it depends on one of `wrt`, or is one
};

}  // namespace

std::vector<ValueId> add_gradient(Graph& graph, std::span<const Seed> seeds, std::span<const ValueId> wrt) {
  return Reverse(graph).run(seeds, wrt);
}

}  // namespace tarsia::graph
