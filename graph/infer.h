// The first pass over a graph: shapes, dtypes and storage types of all values.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"
#include "registry/op/op_registry.h"

namespace tarsia::graph {

/// What the ops of a graph are registered as, one for each node; null for nodes that are no ops. A binding
/// looks them up once, so that all of its passes see the same.
using Entries = std::vector<registry::Ref<registry::OpEntry>>;

/// Throws NotFound if an op is gone.
Entries find_ops(const Graph& graph);

/// The request by which a node's op is inferred and bound. Points into the node and itself.
class NodeRequest {
 public:
  NodeRequest(const Node& node, std::span<const tarsia_meta> metas, tarsia_device device);
  NodeRequest(const NodeRequest&) = delete;
  const tarsia_op_request& request() const { return m_request; }

 private:
  std::vector<tarsia_meta> m_inputs, m_outputs;
  std::vector<const char*> m_names;
  std::vector<tarsia_value> m_values;
  AttributeValue::Lists m_lists;
  tarsia_op_request m_request{};
};

/// Infers from what is known of the inputs (in the order of Graph::inputs()) and outputs, forwards and
/// backwards, until nothing new is learnt. What stays unknown is left so. Throws ArgumentError and OpError,
/// which name the node, for metas that contradict each other.
std::vector<tarsia_meta> infer(const Graph& graph, const Entries& entries,
                               std::span<const tarsia_meta> inputs, std::span<const tarsia_meta> outputs,
                               tarsia_device device);

/// Throws ArgumentError that names the first value of which something is unknown.
void require_complete(const Graph& graph, std::span<const tarsia_meta> metas);

bool is_complete(const tarsia_meta& meta);

}  // namespace tarsia::graph
