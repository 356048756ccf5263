// Lists the steps of a graph that is bound to a device.
#include "graph/program.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "base/error.h"
#include "graph/graph_op.h"
#include "registry/elements/relayout.h"
#include "registry/elements/tensor_math.h"
#include "registry/measure/measure.h"
#include "registry/op/choice.h"
#include "registry/resources/call_context.h"

namespace tarsia::graph {

namespace {

/// A copy of a row-major tensor in a layout, done when this returns.
StorageRef copy_in(const tarsia_tensor& from, const tarsia_meta& meta, const registry::Layout& layout) {
  StorageRef copy = StorageRef::adopt(registry::make_tensor(from.shape, from.ndim, from.dtype, from.device));
  tarsia_tensor to = copy.tensor();
  std::vector<std::int64_t> strides = registry::strides_of(meta, layout);
  to.strides = strides.data();
  void* stream = registry::is_gpu(from.device) ? registry::current_stream(from.device.id) : nullptr;
  registry::relayout(to, from, stream);
  if (registry::is_gpu(from.device)) {
    const CudaDeviceScope scope(from.device.id);
    check_cuda(cuda_driver().cuStreamSynchronize(static_cast<CuStream>(stream)), "cuStreamSynchronize");
  }
  return copy;
}

/// A tensor on `device` with `number` in each of its elements.
StorageRef filled(const tarsia_meta& meta, double number, tarsia_device device) {
  const StorageRef host =
      StorageRef::adopt(registry::make_tensor(meta.shape, meta.ndim, meta.dtype, {TARSIA_CPU, 0}));
  const std::uint64_t bytes = registry::bytes_of(meta.shape, meta.ndim, meta.dtype);
  const auto size = static_cast<std::uint64_t>(registry::bytes_of_element(meta.dtype));
  auto* to = static_cast<char*>(host.tensor().data);
  std::memset(to, 0, bytes);
  if (number != 0) {
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
      // Its backward may need what the forward leaves in the op's state.
      if (node.kind == NodeKind::gradient && !m_program.bound[node.forward] &&
          m_entries[node.forward]->op().create_state)
        m_needed[node.forward] = true;
      for (ValueId input : node.inputs) use(input);
      for (ValueId value : node.add_to) use(value);
    }
  }

  /// Whether a node has effects beside its outputs: it changes a state, or an input where that lies.
  bool changes_state(NodeId id) const {
    const Node& node = m_graph.node(id);
    if (node.kind != NodeKind::op) return false;
    if (changes_own_state(*m_entries[id])) return true;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i] != k_none && node.flags[i] & TARSIA_PORT_MUTABLE) return true;
    return false;
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
        const registry::Layout layout = common_layout(node.inputs);
        step.inputs = {on(node.inputs[1], step.device, layout, node)};
        step.add_to = {addable(on(node.inputs[0], step.device, layout, node), node.inputs[0], step)};
        step.outputs = {new_slot(node.outputs[0], step.device, Source::planned, layout)};
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
    step.changes_own_state = changes_own_state(*m_entries[id]);
    step.bound = bound_op(id, step.device);
    m_program.implementations.push_back({node.name, step.bound->implementation_name(TARSIA_FORWARD)});
    for (const std::string& text : step.bound->conversions(TARSIA_FORWARD))
      m_program.conversions.push_back({node.name, text, true});
    const StepLayouts layouts = layouts_of(step, node.inputs);
    std::vector<SlotId> changed;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      const bool changes = step.bound->bound().input_flags(i) & TARSIA_PORT_MUTABLE;
      if (changes && input != k_none) require_changeable(input, node, step);
      step.inputs.push_back(on(input, step.device, layouts.of_input(input, i), node));
      if (changes && input != k_none) changed.push_back(step.inputs.back());
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      step.outputs.push_back(
          new_slot(node.outputs[i], step.device, Source::planned, layouts.of_output(node.outputs[i], i)));
    step.add_to.assign(step.outputs.size(), k_none);
    m_program.steps.push_back(std::move(step));
    for (SlotId slot : changed) forget_copies(slot);
  }

  /// The bound op of a node.
  registry::Ref<registry::BoundOp> bound_op(NodeId id, tarsia_device device) {
    registry::Ref<registry::BoundOp>& bound = m_program.bound[id];
    if (bound) return bound;
    const Node& node = m_graph.node(id);
    try {
      const NodeRequest request(node, m_metas, device);
      bound = registry::bind(m_entries[id], request.request());
    } catch (const Error& e) {
      rethrow({e.code(), "graph, node '" + node.name + "': " + e.what(), {e.stage(), e.log()}, {}});
    }
    return bound;
  }

  /// A slot has changed: what was copied of it is no longer its value.
  void forget_copies(SlotId slot) {
    std::vector<SlotId> stale = {slot};
    while (!stale.empty()) {
      const SlotId from = stale.back();
      stale.pop_back();
      std::erase_if(m_converted, [&](const Converted& one) {
        if (one.from == from) stale.push_back(one.to);
        return one.from == from;
      });
    }
  }

  /// An input that an op changes has to be the caller's or a state, where it lies.
  void require_changeable(ValueId input, const Node& node, const Step& step) {
    const NodeKind kind = m_graph.node_of(input).kind;
    const std::string what =
        "graph, node '" + node.name + "': its op changes '" + m_graph.value_name(input) + "', which is ";
    if (kind != NodeKind::state && kind != NodeKind::input)
      throw ArgumentError::value_error(what + "no state: make it one, with g.state(…)");
    const tarsia_device& device = m_program.slots[m_slots[input]].device;
    if (!is_same(device, step.device))
      throw ArgumentError::value_error(what + "on " + registry::device_text(device) +
                                       ", and the node runs on " + registry::device_text(step.device) +
                                       ": put the state there");
  }

  void add_gradient(const Node& node) {
    Step step;
    step.kind = StepKind::backward;
    step.name = node.name;
    const Node& forward = m_graph.node(node.forward);
    step.device = forward.device.value_or(m_program.device);
    step.bound = bound_op(node.forward, step.device);
    if (!step.bound->has_backward())
      throw Unsupported("graph, node '" + node.name + "': op '" + forward.op + "' has no backward for " +
                        registry::device_text(step.device));
    m_program.implementations.push_back({node.name, step.bound->implementation_name(TARSIA_BACKWARD)});
    for (const std::string& text : step.bound->conversions(TARSIA_BACKWARD))
      m_program.conversions.push_back({node.name, text, true});
    const std::span<const std::uint8_t> needs = step.bound->needs(TARSIA_BACKWARD);
    const StepLayouts layouts = layouts_of(step, node.inputs);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool is_needed = needs.empty() || needs[i];
      step.inputs.push_back(
          is_needed ? on(node.inputs[i], step.device, layouts.of_input(node.inputs[i], i), node) : k_none);
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const bool has_gradient =
          node.outputs[i] != k_none && step.bound->has_gradient(static_cast<std::uint32_t>(i));
      if (node.outputs[i] != k_none && !has_gradient)
        throw ArgumentError::value_error("graph, node '" + node.name + "': input " + std::to_string(i) +
                                         " of op '" + forward.op + "' has no gradient");
      const registry::Layout layout = layouts.of_output(node.outputs[i], i);
      SlotId to = k_none;
      if (node.add_to[i] != k_none)
        to = addable(on(node.add_to[i], step.device, layout, node), node.add_to[i], step);
      step.add_to.push_back(to);
      step.outputs.push_back(node.outputs[i] == k_none
                                 ? k_none
                                 : new_slot(node.outputs[i], step.device, Source::planned, layout));
    }
    m_program.steps.push_back(std::move(step));
  }

  /// A slot with a value that a step may add to: what a step made for this alone, or a copy.
  SlotId addable(SlotId slot, ValueId value, const Step& step) {
    if (m_program.slots[slot].source == Source::planned && m_uses[value] == 1) return slot;
    return copied(slot, step.device, registry::Layout(m_program.slots[slot].layout), step.name);
  }

  /// The layout of the values if they have the same; else row-major.
  registry::Layout common_layout(std::span<const ValueId> values) const {
    const registry::Layout& first = m_program.slots[m_slots[values[0]]].layout;
    const bool is_common = std::ranges::all_of(
        values, [&](ValueId value) { return m_program.slots[m_slots[value]].layout == first; });
    return is_common ? first : registry::Layout();
  }

  /// In which layouts a step takes and makes values.
  struct StepLayouts {
    const Lowering& lowering;
    const registry::PassLayouts& declared;
    registry::Layout common;  ///< of all of them, if the step is flat

    registry::Layout of_input(ValueId value, std::size_t i) const {
      if (is_sparse(value)) return {};  // made dense, and laid out, within the call
      return common.empty() ? declared.of_input(static_cast<std::uint32_t>(i)) : common_of(value);
    }
    registry::Layout of_output(ValueId value, std::size_t i) const {
      if (is_sparse(value)) return {};
      return common.empty() ? declared.of_output(static_cast<std::uint32_t>(i)) : common_of(value);
    }

   private:
    bool is_sparse(ValueId value) const {
      return value != k_none && lowering.m_metas[value].storage != TARSIA_DENSE;
    }
    /// Single elements lie as they are.
    registry::Layout common_of(ValueId value) const {
      const bool has_axes = value != k_none && lowering.m_metas[value].ndim != 0;
      return has_axes ? common : registry::Layout();
    }
  };

  /// An implementation that takes any layout gets that of the first input that is not row-major.
  StepLayouts layouts_of(Step& step, std::span<const ValueId> inputs) const {
    StepLayouts layouts{*this, step.bound->layouts(step.pass()), {}};
    if (!layouts.declared.is_any()) return layouts;
    for (ValueId input : inputs)
      if (input != k_none && layouts.common.empty()) layouts.common = m_program.slots[m_slots[input]].layout;
    step.is_flat = !layouts.common.empty();
    return layouts;
  }

  void add_output(std::uint32_t i) {
    SlotId slot = m_slots[m_request.outputs[i].value];
    Slot* found = &m_program.slots[slot];
    const bool is_made = found->source == Source::planned || found->source == Source::sparse;
    if (!is_made || found->output != k_none || !is_same(found->device, m_program.device) ||
        !found->layout.empty()) {
      const Node& node = m_graph.node_of(m_request.outputs[i].value);
      slot = found->layout.empty() ? slot : on(m_request.outputs[i].value, found->device, {}, node);
      const Slot& row_major = m_program.slots[slot];
      if (row_major.output != k_none || row_major.source != Source::planned ||
          !is_same(row_major.device, m_program.device))
        slot = copied(slot, m_program.device, {}, m_request.outputs[i].name);
      found = &m_program.slots[slot];
    }
    found->output = i;
    m_program.outputs.push_back(slot);
  }

  SlotId new_slot(ValueId value, tarsia_device device, Source source, registry::Layout layout = {}) {
    const SlotId id = static_cast<SlotId>(m_program.slots.size());
    Slot slot;
    slot.name = m_graph.value_name(value);
    slot.meta = m_metas[value];
    slot.device =
        registry::is_gpu(device) ? tarsia_device{TARSIA_GPU, device.id} : tarsia_device{TARSIA_CPU, 0};
    slot.source = source;
    slot.strides = registry::strides_of(slot.meta, layout);
    slot.layout = std::move(layout);
    if (slot.meta.storage == TARSIA_DENSE)
      slot.bytes = registry::bytes_of(slot.meta.shape, slot.meta.ndim, slot.meta.dtype);
    else if (source == Source::planned)
      slot.source = Source::sparse;
    m_program.slots.push_back(std::move(slot));
    m_slots[value] = id;
    return id;
  }

  /// A copy of a slot on a device and in a layout, made by a step. It does not change both.
  SlotId copied(SlotId from, tarsia_device device, const registry::Layout& layout, const std::string& who) {
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
    slot.strides = registry::strides_of(slot.meta, layout);
    slot.layout = layout;
    const bool moves = !is_same(device, m_program.slots[from].device);
    const bool is_relaid = layout != m_program.slots[from].layout;
    const std::string name = slot.name + (moves       ? " (on " + registry::device_text(device)
                                          : is_relaid ? " (" + registry::describe(layout)
                                                      : " (copy");
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

  /// The slot of a value on a device and in a layout: its own, or a copy that is made once.
  SlotId on(ValueId value, tarsia_device device, const registry::Layout& layout, const Node& user) {
    if (value == k_none) return k_none;
    const SlotId slot = m_slots[value];
    const Slot& own = m_program.slots[slot];
    if (is_same(own.device, device))
      return own.layout == layout ? slot : converted(value, slot, device, layout, user);
    const registry::Layout its = own.layout;
    const SlotId there = converted(value, slot, device, its, user);
    return its == layout ? there : converted(value, there, device, layout, user);
  }

  /// A copy of a slot of the value on another device, or in another layout.
  SlotId converted(ValueId value, SlotId from, tarsia_device device, const registry::Layout& layout,
                   const Node& user) {
    for (const Converted& one : m_converted)
      if (one.from == from && is_same(one.device, device) && one.layout == layout) return one.to;
    const bool moves = !is_same(m_program.slots[from].device, device);
    SlotId to;
    const NodeKind kind = m_graph.node_of(value).kind;
    if (kind == NodeKind::constant || kind == NodeKind::fill) {
      // What never changes is copied now, once.
      const Slot& held = m_program.slots[from];
      StorageRef copy =
          moves ? copy_on(held.held.tensor(), device) : copy_in(held.held.tensor(), held.meta, layout);
      to = static_cast<SlotId>(m_program.slots.size());
      Slot made = held;
      made.device = copy.tensor().device;
      made.strides = registry::strides_of(made.meta, layout);
      made.layout = layout;
      made.held = std::move(copy);
      m_program.slots.push_back(std::move(made));
    } else {
      to = copied(from, device, layout, user.name);
      const Slot &before = m_program.slots[from], &after = m_program.slots[to];
      m_program.conversions.push_back(
          {user.name,
           "'" + m_graph.value_name(value) + "': " +
               (moves ? registry::device_text(before.device) + " -> " + registry::device_text(device)
                      : registry::describe(before.layout) + " -> " + registry::describe(after.layout))});
    }
    m_converted.push_back({from, device, layout, to});
    return to;
  }

  struct Converted {
    SlotId from;
    tarsia_device device;
    registry::Layout layout;
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
  std::vector<Converted> m_converted;
  std::map<std::string, int> m_copies;  ///< how many there are of each name
  Program m_program;
};

}  // namespace

Program make_program(const ProgramRequest& request) {
  return Lowering(request).run();
}

}  // namespace tarsia::graph
