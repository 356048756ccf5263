// A graph of registered ops: nodes, and the values that they make. It says what is computed, and knows no
// shapes beyond those it was told: bind it to get a plan and to run it (graph_op.h).
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/attribute_value.h"
#include "registry/op/infer.h"
#include "registry/resources/memory.h"

namespace tarsia::graph {

/// The number of a value, or of a node, within its graph.
using ValueId = std::uint32_t;
using NodeId = std::uint32_t;
/// No value: an optional input that is absent, an output that nobody wants.
inline constexpr std::uint32_t k_none = UINT32_MAX;

/// A counted reference to a tensor's memory.
class StorageRef {
 public:
  StorageRef() = default;
  /// Takes over one reference.
  static StorageRef adopt(tarsia_storage* storage) {
    StorageRef ref;
    ref.m_storage = storage;
    return ref;
  }
  StorageRef(const StorageRef& o) : m_storage(o.m_storage) {
    if (m_storage) registry::retain(m_storage);
  }
  StorageRef(StorageRef&& o) noexcept : m_storage(std::exchange(o.m_storage, nullptr)) {}
  StorageRef& operator=(StorageRef o) noexcept {
    std::swap(m_storage, o.m_storage);
    return *this;
  }
  ~StorageRef() {
    if (m_storage) registry::release(m_storage);
  }
  explicit operator bool() const { return m_storage != nullptr; }
  const tarsia_tensor& tensor() const { return *m_storage->tensor; }
  tarsia_storage* get() const { return m_storage; }

 private:
  tarsia_storage* m_storage = nullptr;
};

/// A copy of a tensor on a device, done when this returns: calls on any stream may read it.
StorageRef copy_on(const tarsia_tensor& from, tarsia_device device);

enum class NodeKind : std::uint8_t {
  input,      ///< what a caller gives
  constant,   ///< a tensor that never changes
  parameter,  ///< a tensor that others may change between calls
  state,      ///< a tensor that ops of the graph change: auxiliary state
  op,
  gradient,  ///< the backward pass of another node
  sum,       ///< its first input with its second added
  fill       ///< a number in every element of a tensor like its input
};

struct Node {
  NodeKind kind = NodeKind::op;
  std::string name;  ///< unique within the graph
  /// Of a gradient: the output gradients, the inputs and the outputs of `forward`, in this order.
  std::vector<ValueId> inputs;
  /// Of a gradient: one for each input of `forward`, k_none where nobody wants it.
  std::vector<ValueId> outputs;
  std::string op;                          ///< op: its name
  std::vector<NamedAttribute> attributes;  ///< op
  std::vector<std::uint32_t> flags = {};   ///< op: for each input, those of its port
  std::vector<bool> hidden = {};           ///< op: for each output, whether callers of the op do not get it
  std::optional<tarsia_device> device;     ///< op: where it runs; none: where the graph is bound
  NodeId forward = k_none;                 ///< gradient: of which node
  std::vector<ValueId> add_to;             ///< gradient: for each output the value that it adds to, or k_none
  tarsia_meta known = registry::unknown_meta();  ///< input: what is known of it
  StorageRef tensor;                             ///< constant, parameter, state
  double number = 0;                             ///< fill
};

/// Where a value comes from.
struct Value {
  NodeId node;
  std::uint32_t index;  ///< among the node's outputs
};

struct Output {
  std::string name;
  ValueId value;
};

/// What an op's node is made of.
struct OpNode {
  std::string op;
  std::string name;  ///< "": made from the op's name
  std::vector<ValueId> inputs;
  std::vector<NamedAttribute> attributes;
  std::optional<tarsia_device> device;
};

/// Nodes stand in an order in which they can run: a node's inputs are there before it. Not thread-safe while
/// nodes are added.
class Graph {
 public:
  /// Throws ArgumentError for a name that is taken or is no identifier.
  ValueId add_input(const std::string& name, const tarsia_meta& known);
  /// Adds a constant, a parameter or a state. Throws ArgumentError, also for a tensor that is not contiguous.
  ValueId add_tensor(NodeKind kind, const std::string& name, StorageRef tensor);
  /// Adds an op. Throws NotFound, and ArgumentError for attributes and numbers of inputs that the op does not
  /// take.
  NodeId add_op(OpNode op);
  /// Adds the backward pass of a node. `add_to` as in Node. An empty name stands for one made from the
  /// node's.
  NodeId add_gradient(NodeId forward, std::vector<ValueId> inputs, const std::vector<bool>& wanted,
                      std::vector<ValueId> add_to, const std::string& name = "");
  ValueId add_sum(ValueId to, ValueId from, const std::string& name = "");
  ValueId add_fill(ValueId like, double number, const std::string& name = "");
  /// Makes a value a result of the graph. Throws ArgumentError for a name that another output has; "" stands
  /// for the value's own.
  void add_output(ValueId value, const std::string& name = "");

  const std::vector<Node>& nodes() const { return m_nodes; }
  const Node& node(NodeId id) const { return m_nodes[id]; }
  const Node& node_of(ValueId id) const { return m_nodes[m_values[id].node]; }
  const std::vector<Value>& values() const { return m_values; }
  /// The node of that name; k_none if there is none.
  NodeId find(std::string_view name) const;
  const std::vector<NodeId>& inputs() const { return m_inputs; }
  const std::vector<Output>& outputs() const { return m_outputs; }
  /// "relu", or "split:1" for the second output of a node that has several.
  std::string value_name(ValueId id) const;
  /// Throws ArgumentError unless the graph has the value.
  /// `where`: how the error begins.
  void require(ValueId id, const std::string& where = "graph") const;

 private:
  std::string unique_name(const std::string& wanted);
  std::string unique_or(const std::string& given, const std::string& wanted);
  void check_name(const std::string& name, const char* what, const std::string& where = "graph") const;
  ValueId add_value(NodeId node);
  NodeId add_checked(OpNode op);
  NodeId add_node(Node node, std::uint32_t n_outputs);

  std::vector<Node> m_nodes;
  std::vector<Value> m_values;
  std::vector<NodeId> m_inputs;
  std::vector<Output> m_outputs;
  std::map<std::string, std::uint32_t, std::less<>> m_names;  ///< and the number to try next
  std::map<std::string, NodeId, std::less<>> m_by_name;
};

}  // namespace tarsia::graph
