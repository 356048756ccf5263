// Lists the steps of a graph that is bound to a device.
#include "graph/program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "registry/elements/tensor_math.h"
#include "registry/measure/measure.h"
#include "registry/op/choice.h"
#include "registry/resources/call_context.h"

namespace tarsia::graph {

namespace {

/// A copy of a tensor on a device, done when this returns: calls on any stream may read it.
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

/// A tensor on `device` with `number` in each of its elements.
StorageRef filled(const tarsia_meta& meta, double number, tarsia_device device) {
  const StorageRef host =
      StorageRef::adopt(registry::make_tensor(meta.shape, meta.ndim, meta.dtype, {TARSIA_CPU, 0}));
  const std::uint64_t bytes = registry::bytes_of(meta.shape, meta.ndim, meta.dtype);
  const std::uint64_t size = static_cast<std::uint64_t>(meta.dtype.bits) * meta.dtype.lanes / 8;
  auto* to = static_cast<char*>(host.tensor().data);
  std::memset(to, 0, bytes);
  if (number != 0 && size) {
    if (meta.dtype.lanes != 1 || (meta.dtype.code != TARSIA_FLOAT && meta.dtype.code != TARSIA_BFLOAT))
      throw Unsupported("graph: the gradient of a value of " + registry::describe(meta) +
                        ": gradients are of floats");
    for (std::uint64_t at = 0; at + size <= bytes; at += size)
      registry::store_float(meta.dtype, number, to + at);
  }
  return registry::is_gpu(device) ? copy_on(host.tensor(), device) : host;
}

class Lowering {
 public:
  explicit Lowering(const ProgramRequest& request)
      : m_request(request),
        m_graph(request.graph),
        m_entries(request.entries),
        m_metas(request.metas),
        m_slots(m_graph.values().size(), k_none),
        m_is_given(m_graph.values().size(), false) {
    m_program.device = request.device;
    m_program.n_inputs = request.n_inputs;
    m_program.bound = request.bound ? *request.bound : BoundOps();
    m_program.bound.resize(m_graph.nodes().size());
    for (const Given& given : request.given) m_is_given[given.value] = true;
  }

  Program run() {
    // 1. Find the nodes that are needed: those that outputs depend on, or that change a state.
    mark_needed();

    // 2. Make room for what the caller gives, and bind each op, which chooses its implementation, and list
    // its step.
    for (const Given& given : m_request.given) {
      if (m_slots[given.value] != k_none) continue;
      const SlotId slot = new_slot(given.value, m_program.device, Source::caller);
      m_program.slots[slot].input = given.input;
    }
    for (NodeId id = 0; id < m_graph.nodes().size(); ++id)
      if (m_needed[id]) add(id);

    // 3. Make each output a slot of its own that a step writes.
    for (std::size_t i = 0; i < m_request.outputs.size(); ++i) add_output(static_cast<std::uint32_t>(i));
    return std::move(m_program);
  }

 private:
  void mark_needed() {
    m_needed.assign(m_graph.nodes().size(), false);
    m_uses.assign(m_graph.values().size(), 0);
    const auto use = [&](ValueId value) {
      if (value == k_none) return;
      ++m_uses[value];
      if (!m_is_given[value]) m_needed[m_graph.values()[value].node] = true;
    };
    for (const Output& output : m_request.outputs) use(output.value);
    for (NodeId id = static_cast<NodeId>(m_graph.nodes().size()); id-- > 0;) {
      const Node& node = m_graph.node(id);
      if (!m_request.bound && changes_state(id)) m_needed[id] = true;
      if (!m_needed[id]) continue;
      if (node.kind == NodeKind::gradient && !m_program.bound[node.forward]) m_needed[node.forward] = true;
      for (ValueId input : node.inputs) use(input);
      for (ValueId value : node.add_to) use(value);
    }
  }

  bool changes_state(NodeId id) const {
    const Node& node = m_graph.node(id);
    if (node.kind != NodeKind::op) return false;
    return std::ranges::any_of(node.inputs, [&](ValueId input) {
      return input != k_none && m_graph.node_of(input).kind == NodeKind::state;
    });
  }

  void add(NodeId id) {
    const Node& node = m_graph.node(id);
    switch (node.kind) {
      case NodeKind::input:
        break;  // given
      case NodeKind::constant:
      case NodeKind::parameter:
      case NodeKind::state: {
        const SlotId slot = new_slot(node.outputs[0], node.tensor.tensor().device, Source::held);
        m_program.slots[slot].held = node.tensor;
        m_program.slots[slot].is_state = node.kind == NodeKind::state;
        break;
      }
      case NodeKind::fill: {
        const SlotId slot = new_slot(node.outputs[0], m_program.device, Source::held);
        m_program.slots[slot].held = filled(m_metas[node.outputs[0]], node.number, m_program.device);
        break;
      }
      case NodeKind::op:
        add_op(id, node);
        break;
      case NodeKind::gradient:
        add_gradient(node);
        break;
      case NodeKind::sum: {
        Step step;
        step.kind = StepKind::sum;
        step.name = node.name;
        step.device = m_program.device;
        step.inputs = {on(node.inputs[1], step.device, node)};
        step.add_to = {addable(on(node.inputs[0], step.device, node), node.inputs[0], step)};
        step.outputs = {new_slot(node.outputs[0], step.device, Source::planned)};
        m_program.steps.push_back(std::move(step));
        break;
      }
    }
  }

  void add_op(NodeId id, const Node& node) {
    Step step;
    step.kind = StepKind::forward;
    step.name = node.name;
    step.device = node.device.value_or(m_program.device);
    try {
      const NodeRequest request(node, m_metas, step.device);
      step.bound = m_program.bound[id];
      if (!step.bound) step.bound = registry::bind(m_entries[id], request.request());
    } catch (const Error& e) {
      rethrow({e.code(), "graph, node '" + node.name + "': " + e.what(), {e.stage(), e.log()}, {}});
    }
    m_program.bound[id] = step.bound;
    m_program.implementations.push_back({node.name, step.bound->implementation_name(TARSIA_FORWARD)});
    for (const std::string& text : step.bound->conversions(TARSIA_FORWARD))
      m_program.conversions.push_back({node.name, text});
    const tarsia_op& op = m_entries[id]->op();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const bool changes =
          step.bound->bound().info().inputs[i].flags & TARSIA_PORT_MUTABLE ||
          (op.n_inputs && op.inputs[std::min<std::size_t>(i, op.n_inputs - 1)].flags & TARSIA_PORT_MUTABLE);
      if (changes && input != k_none) require_changeable(input, node, step);
      step.inputs.push_back(on(input, step.device, node));
    }
    for (ValueId output : node.outputs)
      step.outputs.push_back(new_slot(output, step.device, Source::planned));
    step.add_to.assign(step.outputs.size(), k_none);
    m_program.steps.push_back(std::move(step));
  }

  /// An input that an op changes has to be the caller's or a state, where it lies.
  void require_changeable(ValueId input, const Node& node, const Step& step) {
    const NodeKind kind = m_graph.node_of(input).kind;
    const std::string what =
        "graph, node '" + node.name + "': its op changes '" + m_graph.value_name(input) + "', which is ";
    if (kind != NodeKind::state && kind != NodeKind::input)
      throw ArgumentError::value_error(what + "no state: make it one, with g.state(…)");
    if (kind == NodeKind::state && !is_same(m_graph.node_of(input).tensor.tensor().device, step.device))
      throw ArgumentError::value_error(
          what + "on " + registry::device_text(m_graph.node_of(input).tensor.tensor().device) +
          ", and the node runs on " + registry::device_text(step.device) + ": put the state there");
  }

  void add_gradient(const Node& node) {
    Step step;
    step.kind = StepKind::backward;
    step.name = node.name;
    step.bound = m_program.bound[node.forward];
    const Node& forward = m_graph.node(node.forward);
    step.device = forward.device.value_or(m_program.device);
    if (!step.bound->has_backward())
      throw Unsupported("graph, node '" + node.name + "': op '" + forward.op + "' has no backward for " +
                        registry::device_text(step.device));
    m_program.implementations.push_back({node.name, step.bound->implementation_name(TARSIA_BACKWARD)});
    for (const std::string& text : step.bound->conversions(TARSIA_BACKWARD))
      m_program.conversions.push_back({node.name, text});
    const std::span<const std::uint8_t> needs = step.bound->needs(TARSIA_BACKWARD);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_needed = needs.empty() || needs[i];
      step.inputs.push_back(is_needed ? on(node.inputs[i], step.device, node) : k_none);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const bool has_gradient =
          node.outputs[i] != k_none && step.bound->has_gradient(static_cast<std::uint32_t>(i));
      if (node.outputs[i] != k_none && !has_gradient)
        throw ArgumentError::value_error("graph, node '" + node.name + "': input " + std::to_string(i) +
                                         " of op '" + forward.op + "' has no gradient");
      SlotId to = k_none;
      if (node.add_to[i] != k_none) to = addable(on(node.add_to[i], step.device, node), node.add_to[i], step);
      step.add_to.push_back(to);
      step.outputs.push_back(
          node.outputs[i] == k_none ? k_none : new_slot(node.outputs[i], step.device, Source::planned));
    }
    m_program.steps.push_back(std::move(step));
  }

  /// A slot with a value that a step may add to: what a step made for this alone, or a copy.
  SlotId addable(SlotId slot, ValueId value, const Step& step) {
    if (m_program.slots[slot].source == Source::planned && m_uses[value] == 1) return slot;
    return copied(slot, step.device, step.name);
  }

  void add_output(std::uint32_t i) {
    SlotId slot = m_slots[m_request.outputs[i].value];
    Slot* found = &m_program.slots[slot];
    const bool is_made = found->source == Source::planned || found->source == Source::sparse;
    if (!is_made || found->output != k_none || !is_same(found->device, m_program.device)) {
      slot = copied(slot, m_program.device, m_request.outputs[i].name);
      found = &m_program.slots[slot];
    }
    found->output = i;
    m_program.outputs.push_back(slot);
  }

  SlotId new_slot(ValueId value, tarsia_device device, Source source) {
    const SlotId id = static_cast<SlotId>(m_program.slots.size());
    Slot slot;
    slot.name = m_graph.value_name(value);
    slot.meta = m_metas[value];
    slot.device =
        registry::is_gpu(device) ? tarsia_device{TARSIA_GPU, device.id} : tarsia_device{TARSIA_CPU, 0};
    slot.source = source;
    if (slot.meta.storage == TARSIA_DENSE)
      slot.bytes = registry::bytes_of(slot.meta.shape, slot.meta.ndim, slot.meta.dtype);
    else if (source == Source::planned)
      slot.source = Source::sparse;
    m_program.slots.push_back(std::move(slot));
    m_slots[value] = id;
    return id;
  }

  /// A copy of a slot on a device, made by a step.
  SlotId copied(SlotId from, tarsia_device device, const std::string& who) {
    if (m_program.slots[from].meta.storage != TARSIA_DENSE)
      throw Unsupported("graph, '" + who + "': the sparse value '" + m_program.slots[from].name +
                        "' cannot be copied: return or use it as it is");
    const SlotId id = static_cast<SlotId>(m_program.slots.size());
    Slot slot = m_program.slots[from];
    slot.device =
        registry::is_gpu(device) ? tarsia_device{TARSIA_GPU, device.id} : tarsia_device{TARSIA_CPU, 0};
    slot.source = Source::planned;
    slot.input = slot.output = k_none;
    slot.held = {};
    const bool moves = !is_same(device, m_program.slots[from].device);
    const std::string name = slot.name + (!moves ? " (copy" : " (on " + registry::device_text(device));
    const int n = ++m_copies[name];
    slot.name = name + (n > 1 ? " " + std::to_string(n) + ")" : ")");
    m_program.slots.push_back(std::move(slot));
    Step step;
    step.kind = StepKind::copy;
    step.name = "copy of " + m_program.slots[from].name;
    // A copy between the CPU and a GPU is the GPU's work.
    step.device = registry::is_gpu(device) ? device : m_program.slots[from].device;
    step.inputs = {from};
    step.outputs = {id};
    step.add_to = {k_none};
    m_program.steps.push_back(std::move(step));
    return id;
  }

  /// The slot of a value on a device: its own, or a copy that is made once.
  SlotId on(ValueId value, tarsia_device device, const Node& user) {
    if (value == k_none) return k_none;
    const SlotId slot = m_slots[value];
    if (is_same(m_program.slots[slot].device, device)) return slot;
    for (const Moved& moved : m_moved)
      if (moved.from == slot && is_same(moved.device, device)) return moved.to;
    SlotId there;
    const NodeKind kind = m_graph.node_of(value).kind;
    if (kind == NodeKind::constant || kind == NodeKind::fill) {
      // What never changes is copied now, once.
      StorageRef copy = copy_on(m_program.slots[slot].held.tensor(), device);
      there = static_cast<SlotId>(m_program.slots.size());
      Slot moved = m_program.slots[slot];
      moved.device = copy.tensor().device;
      moved.held = std::move(copy);
      m_program.slots.push_back(std::move(moved));
    } else {
      there = copied(slot, device, user.name);
      m_program.conversions.push_back({user.name, "'" + m_graph.value_name(value) + "': " +
                                                      registry::device_text(m_program.slots[slot].device) +
                                                      " -> " + registry::device_text(device)});
    }
    m_moved.push_back({slot, device, there});
    return there;
  }

  struct Moved {
    SlotId from;
    tarsia_device device;
    SlotId to;
  };

  const ProgramRequest& m_request;
  const Graph& m_graph;
  const Entries& m_entries;
  std::span<const tarsia_meta> m_metas;
  std::vector<SlotId> m_slots;  ///< of each value, on the device of its node
  std::vector<bool> m_is_given;
  std::vector<bool> m_needed;
  std::vector<std::uint32_t> m_uses;  ///< of each value, by nodes that are needed and as outputs
  std::vector<Moved> m_moved;
  std::map<std::string, int> m_copies;  ///< how many there are of each name
  Program m_program;
};

}  // namespace

Program make_program(const ProgramRequest& request) {
  return Lowering(request).run();
}

}  // namespace tarsia::graph
