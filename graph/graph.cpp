// Adds nodes to a graph, and refuses what cannot be.
#include "graph/graph.h"

#include <tarsia/detail/spelling.h>

#include <algorithm>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/op/op_registry.h"
#include "registry/resources/call_context.h"

namespace tarsia::graph {

StorageRef copy_on(const tarsia_tensor& from, tarsia_device device) {
  StorageRef copy = StorageRef::adopt(registry::make_tensor(from.shape, from.ndim, from.dtype, device));
  const tarsia_device gpu = registry::is_gpu(device) ? device : from.device;
  void* stream = registry::is_gpu(gpu) ? registry::current_stream(gpu.id) : nullptr;
  registry::copy(copy.tensor(), from, stream);
  if (registry::is_gpu(device) && registry::is_gpu(from.device)) {
    const CudaDeviceScope scope(device.id);
    check_cuda(cuda_driver().cuStreamSynchronize(static_cast<CuStream>(stream)), "cuStreamSynchronize");
  }
  return copy;
}

void Graph::check_name(const std::string& name, const char* what, const std::string& where) const {
  if (!detail::is_identifier(name))
    throw ArgumentError::value_error(where + ": '" + name + "' cannot name " + what +
                                     ": write letters, digits and underscores");
  if (m_names.contains(name))
    throw ArgumentError::value_error(where + ": there is a '" + name +
                                     "' already: give one of the two another name");
}

std::string Graph::unique_name(const std::string& wanted) {
  const auto taken = m_names.find(wanted);
  if (taken == m_names.end()) return wanted;
  for (std::uint32_t& i = taken->second;; ++i)
    if (std::string name = wanted + "_" + std::to_string(i); !m_names.contains(name)) return name;
}

std::string Graph::unique_or(const std::string& given, const std::string& wanted) {
  if (given.empty()) return unique_name(wanted);
  check_name(given, "a node");
  return given;
}

ValueId Graph::add_value(NodeId node) {
  const ValueId id = static_cast<ValueId>(m_values.size());
  m_values.push_back({node, static_cast<std::uint32_t>(m_nodes[node].outputs.size())});
  m_nodes[node].outputs.push_back(id);
  return id;
}

NodeId Graph::add_node(Node node, std::uint32_t n_outputs) {
  const NodeId id = static_cast<NodeId>(m_nodes.size());
  m_names.emplace(node.name, 1);
  m_by_name.emplace(node.name, id);
  m_nodes.push_back(std::move(node));
  for (std::uint32_t i = 0; i < n_outputs; ++i) add_value(id);
  return id;
}

NodeId Graph::find(std::string_view name) const {
  const auto it = m_by_name.find(name);
  return it == m_by_name.end() ? k_none : it->second;
}

void Graph::require(ValueId id, const std::string& where) const {
  if (id >= m_values.size())
    throw ArgumentError::value_error(where + ": there is no value " + std::to_string(id) +
                                     ": values belong to the graph that made them");
}

ValueId Graph::add_input(const std::string& name, const tarsia_meta& known) {
  check_name(name, "an input");
  Node node;
  node.kind = NodeKind::input;
  node.name = name;
  node.known = known;
  node.known.present = 1;
  if (node.known.storage == TARSIA_ANY_STORAGE) node.known.storage = TARSIA_DENSE;
  const NodeId id = add_node(std::move(node), 1);
  m_inputs.push_back(id);
  return m_nodes[id].outputs[0];
}

ValueId Graph::add_tensor(NodeKind kind, const std::string& name, StorageRef tensor) {
  static constexpr const char* k_kinds[] = {"", "constant", "parameter", "state"};
  const char* what = k_kinds[static_cast<int>(kind)];
  if (!registry::is_contiguous(tensor.tensor()))
    throw ArgumentError::value_error(std::string("graph: the ") + what +
                                     (name.empty() ? "" : " '" + name + "'") +
                                     " is not contiguous: pass a contiguous copy");
  Node node;
  node.kind = kind;
  node.name = unique_or(name, what);
  node.known = registry::meta_of(tensor.tensor());
  node.tensor = std::move(tensor);
  return m_nodes[add_node(std::move(node), 1)].outputs[0];
}

NodeId Graph::add_op(OpNode given) {
  const std::string where = "graph, node '" + (given.name.empty() ? given.op : given.name) + "'";
  if (!given.name.empty()) check_name(given.name, "a node", where);
  for (ValueId input : given.inputs)
    if (input != k_none) require(input, where);
  try {
    return add_checked(std::move(given));
  } catch (const Error& e) {  // what the registry says of its op
    rethrow({e.code(), where + ": " + e.what(), {e.stage(), e.log()}, {}});
  }
}

NodeId Graph::add_checked(OpNode given) {
  const registry::Ref<registry::OpEntry> entry = registry::OpRegistry::instance().find(given.op);
  const tarsia_op& op = entry->op();
  // The numbers of inputs and outputs may depend on the attributes, which are checked with them.
  AttributeValue::Lists lists;
  std::vector<const char*> names;
  std::vector<tarsia_value> values;
  for (const NamedAttribute& attribute : given.attributes) {
    names.push_back(attribute.name.c_str());
    values.push_back(attribute.value.view(lists));
  }
  std::vector<tarsia_meta> metas;
  for (ValueId input : given.inputs) {
    metas.push_back(registry::unknown_meta());
    metas.back().present = input != k_none;
  }
  tarsia_op_request request{};
  request.size = sizeof request;
  request.n_inputs = static_cast<std::uint32_t>(metas.size());
  request.inputs = metas.data();
  request.n_attributes = static_cast<std::uint32_t>(names.size());
  request.attribute_names = names.data();
  request.attributes = values.data();
  request.device = given.device.value_or(tarsia_device{TARSIA_CPU, 0});
  const registry::Arity arity = registry::arity_of(op, request);

  Node node;
  node.kind = NodeKind::op;
  node.name = given.name.empty() ? unique_name(given.op) : std::move(given.name);
  node.op = std::move(given.op);
  node.inputs = std::move(given.inputs);
  node.inputs.resize(arity.n_inputs, k_none);
  node.attributes = std::move(given.attributes);
  node.device = given.device;
  node.hidden = arity.hidden;
  for (const tarsia_port& port : arity.inputs) node.flags.push_back(port.flags);
  return add_node(std::move(node), arity.n_outputs);
}

NodeId Graph::add_gradient(NodeId forward, std::vector<ValueId> inputs, const std::vector<bool>& wanted,
                           std::vector<ValueId> add_to, const std::string& name) {
  if (forward >= m_nodes.size() || m_nodes[forward].kind != NodeKind::op)
    throw ArgumentError::value_error("graph: a gradient belongs to the node of an op");
  const Node& of = m_nodes[forward];
  const std::string who = "graph: the gradient of '" + of.name + "' ";
  if (inputs.size() != of.inputs.size() + 2 * of.outputs.size())
    throw ArgumentError::value_error(
        who + "takes " + std::to_string(of.inputs.size() + 2 * of.outputs.size()) +
        " inputs: output gradients, inputs and outputs; not " + std::to_string(inputs.size()));
  if (wanted.size() != of.inputs.size() || add_to.size() != of.inputs.size())
    throw ArgumentError::value_error(who + "has " + std::to_string(of.inputs.size()) + " outputs");
  for (const std::vector<ValueId>* values : {&inputs, &add_to})
    for (ValueId value : *values)
      if (value != k_none) require(value);
  Node node;
  node.kind = NodeKind::gradient;
  node.name = unique_or(name, of.name + "_gradient");
  node.forward = forward;
  node.inputs = std::move(inputs);
  node.add_to = std::move(add_to);
  const NodeId id = add_node(std::move(node), 0);
  for (bool is_wanted : wanted) {
    if (is_wanted)
      add_value(id);
    else
      m_nodes[id].outputs.push_back(k_none);
  }
  return id;
}

ValueId Graph::add_sum(ValueId to, ValueId from, const std::string& name) {
  require(to);
  require(from);
  Node node;
  node.kind = NodeKind::sum;
  node.name = unique_or(name, "sum");
  node.inputs = {to, from};
  return m_nodes[add_node(std::move(node), 1)].outputs[0];
}

ValueId Graph::add_fill(ValueId like, double number, const std::string& name) {
  require(like);
  Node node;
  node.kind = NodeKind::fill;
  node.name = unique_or(name, number == 0 ? "zeros" : number == 1 ? "ones" : "fill");
  node.inputs = {like};
  node.number = number;
  return m_nodes[add_node(std::move(node), 1)].outputs[0];
}

void Graph::add_output(ValueId value, const std::string& name) {
  require(value);
  Output output{name, value};
  if (name.empty()) {
    std::string own = value_name(value);
    std::ranges::replace(own, ':', '_');
    output.name = own;
    for (int i = 1; std::ranges::any_of(m_outputs, [&](const Output& o) { return o.name == output.name; });
         ++i)
      output.name = own + "_" + std::to_string(i);
  }
  if (!detail::is_identifier(output.name))
    throw ArgumentError::value_error("graph: '" + output.name +
                                     "' cannot name an output: write letters, digits and underscores");
  if (std::ranges::any_of(m_outputs, [&](const Output& o) { return o.name == output.name; }))
    throw ArgumentError::value_error("graph: there is an output '" + output.name +
                                     "' already: give one of the two another name");
  m_outputs.push_back(std::move(output));
}

std::string Graph::value_name(ValueId id) const {
  if (id == k_none) return "nothing";
  const Value& value = m_values[id];
  const Node& node = m_nodes[value.node];
  if (node.outputs.size() == 1) return node.name;
  return node.name + ":" + std::to_string(value.index);
}

}  // namespace tarsia::graph
