// Runs the inference of each node whose values have become better known, first from the inputs to the outputs
// and then back, until a round learns nothing.
#include "graph/infer.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>

#include "base/error.h"

namespace tarsia::graph {

namespace {

/// Takes over what `from` knows and `to` does not. Returns whether that was anything.
bool learn(tarsia_meta& to, const tarsia_meta& from) {
  bool learnt = false;
  if (to.dtype.code == TARSIA_ANY_DTYPE && from.dtype.code != TARSIA_ANY_DTYPE) {
    to.dtype = from.dtype;
    learnt = true;
  }
  if (to.storage == TARSIA_ANY_STORAGE && from.storage != TARSIA_ANY_STORAGE) {
    to.storage = from.storage;
    learnt = true;
  }
  if (to.ndim < 0 && from.ndim >= 0) {
    to.ndim = from.ndim;
    std::copy_n(from.shape, from.ndim, to.shape);
    return true;
  }
  for (int i = 0; i < to.ndim && to.ndim == from.ndim; ++i)
    if (to.shape[i] < 0 && from.shape[i] >= 0) {
      to.shape[i] = from.shape[i];
      learnt = true;
    }
  return learnt;
}

bool contradict(const tarsia_meta& a, const tarsia_meta& b) {
  if (a.dtype.code != TARSIA_ANY_DTYPE && b.dtype.code != TARSIA_ANY_DTYPE &&
      std::memcmp(&a.dtype, &b.dtype, sizeof a.dtype) != 0)
    return true;
  if (a.ndim < 0 || b.ndim < 0) return false;
  if (a.ndim != b.ndim) return true;
  for (int i = 0; i < a.ndim; ++i)
    if (a.shape[i] >= 0 && b.shape[i] >= 0 && a.shape[i] != b.shape[i]) return true;
  return false;
}

class Inference {
 public:
  Inference(const Graph& graph, const Entries& entries, tarsia_device device)
      : m_graph(graph), m_entries(entries), m_device(device), m_users(graph.values().size()) {
    m_metas.assign(graph.values().size(), registry::unknown_meta());
    for (NodeId id = 0; id < graph.nodes().size(); ++id)
      for (ValueId input : graph.node(id).inputs)
        if (input != k_none && (m_users[input].empty() || m_users[input].back() != id))
          m_users[input].push_back(id);
  }

  std::vector<tarsia_meta> run(std::span<const tarsia_meta> inputs, std::span<const tarsia_meta> outputs) {
    m_is_waiting.assign(m_graph.nodes().size(), true);
    std::size_t next = 0;
    for (NodeId id = 0; id < m_graph.nodes().size(); ++id) {
      const Node& node = m_graph.node(id);
      m_queue.push_back(id);
      if (node.kind == NodeKind::op || node.outputs.empty()) continue;
      tarsia_meta known = node.known;
      if (node.kind == NodeKind::input && next < inputs.size()) {
        const tarsia_meta& given = inputs[next++];
        if (contradict(known, given))
          throw ArgumentError::value_error("graph: input '" + node.name + "' is " +
                                           registry::describe(given) + ", but the graph says " +
                                           registry::describe(known));
        tarsia_meta both = given;
        learn(both, known);
        known = both;
      }
      if (node.kind <= NodeKind::state) m_metas[node.outputs[0]] = known;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i)
      meet(m_graph.outputs()[i].value, outputs[i], "the caller");
    while (!m_queue.empty()) {
      const NodeId id = m_queue.front();
      m_queue.pop_front();
      m_is_waiting[id] = false;
      visit(id);
    }
    for (NodeId id = 0; id < m_graph.nodes().size(); ++id)
      if (m_failed.contains(id)) std::rethrow_exception(m_failed[id]);
    return std::move(m_metas);
  }

 private:
  void visit(NodeId id) {
    const Node& node = m_graph.node(id);
    switch (node.kind) {
      case NodeKind::op:
        visit_op(id);
        break;
      case NodeKind::gradient: {
        // Its outputs are like the inputs of its forward node, and the output gradients like the outputs.
        const Node& forward = m_graph.node(node.forward);
        for (std::size_t i = 0; i < node.outputs.size(); ++i)
          equate(node.outputs[i], forward.inputs[i], node);
        for (std::size_t i = 0; i < forward.outputs.size(); ++i)
          equate(node.inputs[i], forward.outputs[i], node);
        break;
      }
      case NodeKind::sum:
        equate(node.inputs[0], node.inputs[1], node);
        equate(node.outputs[0], node.inputs[0], node);
        break;
      case NodeKind::fill:
        equate(node.outputs[0], node.inputs[0], node);
        break;
      default:
        break;
    }
  }

  void visit_op(NodeId id) {
    const Node& node = m_graph.node(id);
    try {
      const NodeRequest request(node, m_metas, node.device.value_or(m_device));
      const registry::BoundInfo bound(m_entries[id]->op(), request.request());
      m_failed.erase(id);
      // What an op infers of storage types means something only once it was told those of its inputs.
      const bool knows_storages = std::ranges::all_of(node.inputs, [&](ValueId input) {
        return input == k_none || m_metas[input].storage != TARSIA_ANY_STORAGE;
      });
      const auto tell = [&](ValueId id, tarsia_meta meta) {
        if (!knows_storages) meta.storage = TARSIA_ANY_STORAGE;
        meet(id, meta, node.name);
      };
      for (std::size_t i = 0; i < node.inputs.size(); ++i) tell(node.inputs[i], bound.inputs()[i]);
      for (std::size_t i = 0; i < node.outputs.size(); ++i) tell(node.outputs[i], bound.outputs()[i]);
    } catch (const Error& e) {
      // An op may not be able to infer from less than complete inputs. It is asked again when more is known.
      const bool complete = std::ranges::all_of(
          node.inputs, [&](ValueId input) { return input == k_none || is_complete(m_metas[input]); });
      if (complete) rethrow_named(node, e);
      try {
        rethrow_named(node, e);
      } catch (...) {
        m_failed[id] = std::current_exception();
      }
    }
  }

  [[noreturn]] void rethrow_named(const Node& node, const Error& e) {
    rethrow({e.code(), "graph, node '" + node.name + "': " + e.what(), {e.stage(), e.log()}, {}});
  }

  void equate(ValueId a, ValueId b, const Node& node) {
    if (a == k_none || b == k_none) return;
    meet(a, m_metas[b], node.name);
    meet(b, m_metas[a], node.name);
  }

  /// Tells a value what a node knows of it.
  void meet(ValueId id, const tarsia_meta& known, const std::string& who) {
    if (id == k_none) return;
    tarsia_meta& meta = m_metas[id];
    if (contradict(meta, known))
      throw ArgumentError::value_error("graph, '" + who + "': value '" + m_graph.value_name(id) + "' is " +
                                       registry::describe(meta) + ", and " + registry::describe(known) +
                                       " is needed");
    if (!learn(meta, known)) return;
    wake(m_graph.values()[id].node);
    for (NodeId user : m_users[id]) wake(user);
  }

  void wake(NodeId id) {
    if (m_is_waiting[id]) return;
    m_is_waiting[id] = true;
    m_queue.push_back(id);
  }

  const Graph& m_graph;
  const Entries& m_entries;
  tarsia_device m_device;
  std::vector<std::vector<NodeId>> m_users;
  std::vector<tarsia_meta> m_metas;
  std::deque<NodeId> m_queue;
  std::vector<bool> m_is_waiting;
  std::map<NodeId, std::exception_ptr> m_failed;
};

}  // namespace

bool is_complete(const tarsia_meta& meta) {
  return meta.ndim >= 0 && meta.dtype.code != TARSIA_ANY_DTYPE &&
         std::none_of(meta.shape, meta.shape + meta.ndim, [](std::int64_t n) { return n < 0; });
}

Entries find_ops(const Graph& graph) {
  Entries entries(graph.nodes().size());
  std::map<std::string_view, registry::Ref<registry::OpEntry>> found;
  for (NodeId id = 0; id < entries.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind != NodeKind::op) continue;
    auto [it, is_new] = found.try_emplace(node.op);
    if (is_new) it->second = registry::OpRegistry::instance().find(node.op);
    entries[id] = it->second;
  }
  return entries;
}

NodeRequest::NodeRequest(const Node& node, std::span<const tarsia_meta> metas, tarsia_device device) {
  for (ValueId input : node.inputs) {
    m_inputs.push_back(input == k_none ? registry::unknown_meta() : metas[input]);
    m_inputs.back().present = input != k_none;
    m_inputs.back().flags = 0;
  }
  for (ValueId output : node.outputs) m_outputs.push_back(metas[output]);
  for (const NamedAttribute& attribute : node.attributes) {
    m_names.push_back(attribute.name.c_str());
    m_values.push_back(attribute.value.view(m_lists));
  }
  m_request.size = sizeof m_request;
  m_request.n_inputs = static_cast<std::uint32_t>(m_inputs.size());
  m_request.n_outputs = static_cast<std::uint32_t>(m_outputs.size());
  m_request.n_attributes = static_cast<std::uint32_t>(m_names.size());
  m_request.inputs = m_inputs.data();
  m_request.outputs = m_outputs.data();
  m_request.attribute_names = m_names.data();
  m_request.attributes = m_values.data();
  m_request.device = device;
}

std::vector<tarsia_meta> infer(const Graph& graph, const Entries& entries,
                               std::span<const tarsia_meta> inputs, std::span<const tarsia_meta> outputs,
                               tarsia_device device) {
  return Inference(graph, entries, device).run(inputs, outputs);
}

void require_complete(const Graph& graph, std::span<const tarsia_meta> metas) {
  for (ValueId id = 0; id < metas.size(); ++id)
    if (!is_complete(metas[id]))
      throw ArgumentError::value_error("graph: value '" + graph.value_name(id) +
                                       "' is not fully known: " + registry::describe(metas[id]) +
                                       "; give the shapes and dtypes of the inputs");
}

}  // namespace tarsia::graph
