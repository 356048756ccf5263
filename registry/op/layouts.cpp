// Which tensors of a pass are taken in another layout than row-major; registry/elements/relayout.* copies
// one.
#include "registry/op/layouts.h"

#include <algorithm>
#include <span>
#include <string_view>

#include "base/error.h"
#include "registry/elements/relayout.h"
#include "registry/elements/tensor_math.h"
#include "registry/op/choice.h"
#include "registry/op/inplace.h"
#include "registry/op/needs.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

/// The layout that an implementation declares for a tensor; empty if it declares none for so many dimensions.
Layout declared(const tarsia_implementation& implementation, const tarsia_port* port, bool is_gradient,
                const tarsia_meta& meta) {
  if (!meta.present || meta.storage != TARSIA_DENSE) return {};
  for (const tarsia_layout& one : std::span(implementation.layouts, implementation.n_layouts))
    if (port && is_name_of(one.name, *port, is_gradient) &&
        one.n_axes == static_cast<std::uint32_t>(meta.ndim))
      return Layout(one.axes, one.axes + one.n_axes);
  return {};
}

bool is_one_element(const tarsia_meta& meta) {
  return meta.ndim == 0;
}

bool has_same_shape(const tarsia_meta& a, const tarsia_meta& b) {
  return a.ndim == b.ndim && std::equal(a.shape, a.shape + a.ndim, b.shape);
}

/// Whether all tensors of a pass are dense and of one shape, save for single elements.
bool has_one_shape(const tarsia_bind_info& info, tarsia_pass pass) {
  const tarsia_meta* first = nullptr;
  const auto fits = [&](const tarsia_meta& meta) {
    if (!meta.present) return true;
    if (meta.storage != TARSIA_DENSE) return false;
    if (is_one_element(meta)) return true;
    if (!first) first = &meta;
    return has_same_shape(meta, *first);
  };
  for (std::uint32_t i = 0; i < count_inputs(info, pass); ++i)
    if (!fits(meta_of_input(info, pass, i))) return false;
  for (std::uint32_t i = 0; i < count_outputs(info, pass); ++i)
    if (!fits(meta_of_output(info, pass, i))) return false;
  return first != nullptr;
}

bool is_changed(const tarsia_meta& meta) {
  return meta.present && meta.flags & TARSIA_PORT_MUTABLE;
}

bool changes_inputs(const tarsia_bind_info& info, tarsia_pass pass) {
  for (std::uint32_t i = 0; i < count_inputs(info, pass); ++i)
    if (is_changed(meta_of_input(info, pass, i))) return true;
  return false;
}

}  // namespace

const Layout PassLayouts::s_row_major;

std::vector<std::int64_t> strides_of(const tarsia_meta& meta, const Layout& layout) {
  if (layout.empty()) return {};
  std::vector<std::int64_t> strides(layout.size());
  std::int64_t next = 1;
  for (std::size_t k = layout.size(); k-- > 0;) {
    strides[layout[k]] = next;
    next *= meta.shape[layout[k]];
  }
  tarsia_tensor tensor{};
  tensor.ndim = meta.ndim;
  tensor.shape = const_cast<std::int64_t*>(meta.shape);
  tensor.strides = strides.data();
  if (is_contiguous(tensor)) return {};
  return strides;
}

std::string describe(const Layout& layout) {
  if (layout.empty()) return "row-major";
  std::string text;
  for (const std::uint8_t axis : layout) text += (text.empty() ? "" : ", ") + std::to_string(axis);
  return "axes (" + text + ")";
}

bool lies(const tarsia_tensor& tensor, const std::int64_t* strides) noexcept {
  if (!strides) return is_contiguous(tensor);
  if (!tensor.strides) return false;
  for (int i = 0; i < tensor.ndim; ++i)
    if (tensor.shape[i] != 1 && tensor.strides[i] != strides[i]) return false;
  return true;
}

PassLayouts::PassLayouts(const tarsia_op& op, const tarsia_implementation& implementation,
                         const tarsia_bind_info& info, const tarsia_bind_info& given) {
  const auto pass = static_cast<tarsia_pass>(implementation.pass);
  const bool backward = pass == TARSIA_BACKWARD;
  m_is_any = implementation.takes_any & TARSIA_TAKES_ANY_LAYOUT && has_one_shape(given, pass) &&
             !changes_inputs(given, pass);
  if (!implementation.n_layouts) return;
  bool is_any_laid_out = false;
  const auto add = [&](std::vector<One>& all, const tarsia_port* port, bool is_gradient,
                       const tarsia_meta& meta) {
    One one{declared(implementation, port, is_gradient, meta), {}};
    one.strides = strides_of(meta, one.layout);
    if (one.strides.empty()) one.layout.clear();
    is_any_laid_out |= !one.layout.empty();
    all.push_back(std::move(one));
  };
  for (std::uint32_t i = 0; i < count_inputs(info, pass); ++i) {
    const BackwardPort of = backward ? port_of_backward(op, info.n_inputs, info.n_outputs, i)
                                     : BackwardPort{port_of(op.inputs, op.n_inputs, i), false};
    const tarsia_meta& meta = meta_of_input(info, pass, i);
    add(m_inputs, of.port, of.is_gradient, meta);
    if (is_changed(meta) && !m_inputs.back().layout.empty())
      throw OpError(std::string("op '") + op.name + "', " + pass_name(pass) + " by '" +
                    name_of(op, implementation) + "': it declares .layout(\"" + of.port->name +
                    "\") for an input that the op changes where it lies: leave the layout out");
  }
  for (std::uint32_t i = 0; i < count_outputs(info, pass); ++i)
    add(m_outputs, backward ? port_of(op.inputs, op.n_inputs, i) : port_of(op.outputs, op.n_outputs, i),
        backward, meta_of_output(info, pass, i));
  if (is_any_laid_out) return;
  m_inputs.clear();
  m_outputs.clear();
}

std::vector<std::string> describe_layouts(const BoundInfo& bound, tarsia_pass pass,
                                          const PassLayouts& layouts) {
  const bool backward = pass == TARSIA_BACKWARD;
  std::vector<std::string> texts;
  const auto tell = [&](const std::string& name, const Layout& layout) {
    if (!layout.empty()) texts.push_back(name + ": " + describe(layout));
  };
  const auto n_in = static_cast<std::uint32_t>(bound.inputs().size()),
             n_out = static_cast<std::uint32_t>(bound.outputs().size());
  std::uint32_t taken = 0;
  for (std::uint32_t i = 0; backward && i < n_out; ++i)
    tell("gradient of " + bound.output_name(i), layouts.of_input(taken++));
  for (std::uint32_t i = 0; i < n_in; ++i) tell(bound.input_name(i), layouts.of_input(taken++));
  for (std::uint32_t i = 0; i < n_out; ++i)
    tell(bound.output_name(i), backward ? layouts.of_input(taken++) : layouts.of_output(i));
  for (std::uint32_t i = 0; backward && i < n_in; ++i)
    tell("gradient of " + bound.input_name(i), layouts.of_output(i));
  return texts;
}

LayoutRun::LayoutRun(const tarsia_op_context& asked, const PassLayouts& layouts)
    : m_context(asked), m_asked(asked) {
  m_made.reserve(std::size_t{asked.n_inputs} + asked.n_outputs);
  m_inputs.assign(asked.inputs, asked.inputs + asked.n_inputs);
  m_outputs.assign(asked.outputs, asked.outputs + asked.n_outputs);
  m_requests.assign(asked.requests, asked.requests + asked.n_outputs);
  for (std::uint32_t i = 0; i < asked.n_inputs; ++i) {
    const std::int64_t* strides = layouts.strides_of_input(i);
    if (!strides || !m_inputs[i] || lies(*m_inputs[i], strides)) continue;
    const tarsia_tensor* memory = memory_like(*m_inputs[i], strides);
    relayout(*memory, *m_inputs[i], asked.stream);
    m_inputs[i] = memory;
  }
  for (std::uint32_t i = 0; i < asked.n_outputs; ++i) {
    const std::int64_t* strides = layouts.strides_of_output(i);
    if (!strides || !m_outputs[i] || lies(*m_outputs[i], strides)) continue;
    if (m_requests[i] == TARSIA_REQUEST_NULL) continue;
    m_outputs[i] = memory_like(*m_outputs[i], strides);
    m_requests[i] = TARSIA_REQUEST_WRITE;
  }
  m_context.inputs = m_inputs.data();
  m_context.outputs = m_outputs.data();
  m_context.requests = m_requests.data();
}

const tarsia_tensor* LayoutRun::memory_like(const tarsia_tensor& tensor, const std::int64_t* strides) {
  tarsia_tensor& memory = m_made.emplace_back(tensor);
  memory.device = m_asked.device;
  memory.strides = const_cast<std::int64_t*>(strides);
  memory.byte_offset = 0;
  memory.data = call_scratch(bytes_of(tensor.shape, tensor.ndim, tensor.dtype), m_asked.device);
  return &memory;
}

void LayoutRun::finish() {
  for (std::uint32_t i = 0; i < m_asked.n_outputs; ++i) {
    const tarsia_tensor* to = m_asked.outputs[i];
    if (m_outputs[i] == to) continue;
    if (m_asked.requests[i] != TARSIA_REQUEST_ADD) {
      relayout(*to, *m_outputs[i], m_asked.stream);
      continue;
    }
    tarsia_tensor summand = *to;
    summand.byte_offset = 0;
    summand.data = call_scratch(bytes_of(to->shape, to->ndim, to->dtype), m_asked.device);
    relayout(summand, *m_outputs[i], m_asked.stream);
    add_to(*to, summand, m_asked.stream);
  }
}

std::string fault_of_layout(const tarsia_op& op, const tarsia_implementation& implementation,
                            const tarsia_layout& layout) {
  const bool backward = implementation.pass == TARSIA_BACKWARD;
  const std::string_view name = layout.name;
  const std::string has = "has .layout(\"" + std::string(name) + "\", …)";
  std::string known;
  int n = 0;
  const auto count = [&](const tarsia_port* ports, std::uint32_t n_ports, bool is_gradient) {
    for (std::uint32_t i = 0; i < n_ports; ++i) {
      known += (known.empty() ? "" : ", ") + std::string(is_gradient ? "d" : "") + ports[i].name;
      n += is_name_of(name, ports[i], is_gradient);
    }
  };
  if (backward) count(op.outputs, op.n_outputs, true);
  count(op.inputs, op.n_inputs, false);
  count(op.outputs, op.n_outputs, false);
  if (backward) count(op.inputs, op.n_inputs, true);
  if (!n)
    return has + ", and its " + pass_name(implementation.pass) + " has " + known +
           (backward ? ": the gradient of a tensor has its name behind a d" : "");
  const auto is_changed_input = [&](const tarsia_port& port) {
    return port.flags & TARSIA_PORT_MUTABLE && is_name_of(name, port, false);
  };
  if (std::ranges::any_of(std::span(op.inputs, op.n_inputs), is_changed_input))
    return has + " for an input that the op changes where it lies: leave the layout out";
  if (n > 1) return has + ", which is more than one of its tensors: give a port another name";
  for (const tarsia_layout& other : std::span(implementation.layouts, implementation.n_layouts)) {
    if (&other == &layout) break;
    if (name == other.name && layout.n_axes == other.n_axes)
      return has + " twice for " + std::to_string(layout.n_axes) + " axes: leave one of them out";
  }
  std::vector<bool> seen(layout.n_axes);
  for (std::uint32_t k = 0; k < layout.n_axes; ++k) {
    const std::uint32_t axis = layout.axes[k];
    if (axis >= layout.n_axes || seen[axis])
      return has + " with other axes than each of 0 to " + std::to_string(layout.n_axes - 1) + " once";
    seen[axis] = true;
  }
  if (!layout.n_axes || layout.n_axes > TARSIA_MAX_NDIM)
    return has + " of " + std::to_string(layout.n_axes) +
           " axes: list each axis, from the outermost to the innermost";
  if (implementation.takes_any & TARSIA_TAKES_ANY_LAYOUT)
    return "has .any_layout() and .layout(…) for one implementation: leave one of them out";
  return {};
}

}  // namespace tarsia::registry
