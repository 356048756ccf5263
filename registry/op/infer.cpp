// Runs an op's inference, and reports where it contradicts the known metas.
#include "registry/op/infer.h"

#include <tarsia/detail/support.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <optional>

#include "base/error.h"
#include "registry/library/library.h"
#include "registry/op/choice.h"
#include "registry/op/op_step.h"
#include "registry/resources/last_error.h"

namespace tarsia::registry {

namespace {

bool has_shape(const tarsia_meta& meta) {
  return meta.ndim >= 0;
}
bool has_dtype(const tarsia_meta& meta) {
  return meta.dtype.code != TARSIA_ANY_DTYPE;
}
bool same_dtype(tarsia_dtype a, tarsia_dtype b) {
  return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes;
}

bool is_complete(const tarsia_meta& meta) {
  if (!has_shape(meta) || !has_dtype(meta)) return false;
  for (int i = 0; i < meta.ndim; ++i)
    if (meta.shape[i] < 0) return false;
  return true;
}

/// The known value must be the inferred one.
bool agree(const tarsia_meta& known, const tarsia_meta& inferred) {
  if (has_dtype(known) && !same_dtype(known.dtype, inferred.dtype)) return false;
  if (known.storage != TARSIA_ANY_STORAGE && known.storage != inferred.storage) return false;
  if (!has_shape(known)) return true;
  if (known.ndim != inferred.ndim) return false;
  for (int i = 0; i < known.ndim; ++i)
    if (known.shape[i] >= 0 && known.shape[i] != inferred.shape[i]) return false;
  return true;
}

std::string op_name(const tarsia_op& op) {
  return std::string("op '") + op.name + "'";
}

/// "input 'x'", "input 'args' 2", and "input 1" where there is no name.
std::string port_name(const char* what, const char* name, unsigned i, std::optional<unsigned> of_variadic) {
  std::string text = std::string(what) + " ";
  if (!*name) return text + std::to_string(i);
  text += std::string("'") + name + "'";
  return of_variadic ? text + " " + std::to_string(*of_variadic) : text;
}

}  // namespace

tarsia_meta unknown_meta() {
  tarsia_meta meta{};
  meta.ndim = -1;
  meta.dtype = {TARSIA_ANY_DTYPE, 0, 0};
  meta.storage = TARSIA_ANY_STORAGE;
  meta.present = 1;
  return meta;
}

tarsia_meta meta_of(const tarsia_tensor& tensor) {
  if (tensor.ndim > TARSIA_MAX_NDIM)
    throw ArgumentError::value_error("a tensor has " + std::to_string(tensor.ndim) +
                                     " dimensions; ops take up to 32");
  tarsia_meta meta{};
  meta.ndim = tensor.ndim;
  meta.dtype = tensor.dtype;
  meta.storage = TARSIA_DENSE;
  meta.present = 1;
  if (tensor.ndim)
    std::memcpy(meta.shape, tensor.shape, sizeof(meta.shape[0]) * static_cast<size_t>(tensor.ndim));
  return meta;
}

std::string describe(const tarsia_meta& meta) {
  std::string text = "?";
  if (has_dtype(meta)) {
    tarsia_type type{};
    type.kind = TARSIA_KIND_INT;
    type.dtype = meta.dtype;
    text = describe(type);
  }
  text += " (";
  if (!has_shape(meta)) return text + "?)";
  for (int i = 0; i < meta.ndim; ++i)
    text += (i ? ", " : "") + (meta.shape[i] < 0 ? std::string("?") : std::to_string(meta.shape[i]));
  text += meta.ndim == 1 ? ",)" : ")";
  if (meta.storage == TARSIA_CSR) text += " csr";
  if (meta.storage == TARSIA_ROW_SPARSE) text += " row-sparse";
  return text;
}

std::string with_place(std::string message, const tarsia_op& op, std::int32_t code) {
  static constexpr std::int32_t k_of_the_text[] = {TARSIA_OP_VALUE_ERROR, TARSIA_OP_INDEX_ERROR,
                                                   TARSIA_OP_TYPE_ERROR,  TARSIA_ARGUMENT_VALUE,
                                                   TARSIA_ARGUMENT_TYPE,  TARSIA_NOT_FOUND};
  if (std::ranges::find(k_of_the_text, code) == std::end(k_of_the_text) || !op.location || !*op.location)
    return message;
  const std::string place = std::string("(") + op.location + ")";
  return message.find(place) == std::string::npos ? std::move(message) + " " + place : message;
}

void throw_op_error(const tarsia_op& op, const char* function) {
  LastError& error = last_error();
  error.message = with_place(op_name(op) + ", " + function + ": " + error.message, op, error.code);
  throw_last_error();
}

Arity arity_of(const tarsia_op& op, const tarsia_op_request& request) {
  const BoundInfo bound(op, request, BoundInfo::WithoutInference{});
  Arity arity{bound.m_info.n_inputs, bound.m_info.n_outputs};
  arity.hidden = bound.m_hidden;
  arity.inputs = bound.m_input_ports;
  return arity;
}

Arity counts_of(const tarsia_op& op, const tarsia_op_request& request) {
  BoundInfo bound(op, request, BoundInfo::AttributesAlone{});
  Arity arity{op.n_inputs, op.n_outputs};
  if (op.arity) bound.count(arity.n_inputs, arity.n_outputs);
  bound.m_outputs.assign(arity.n_outputs, unknown_meta());
  bound.mark_hidden();
  // Of a variadic input that nothing counts, nobody has said how many there are.
  const bool is_counted =
      op.arity || !op.n_inputs || !(op.inputs[op.n_inputs - 1].flags & TARSIA_PORT_VARIADIC);
  bound.name_inputs(arity.n_inputs, is_counted);
  arity.hidden = bound.m_hidden;
  arity.inputs = bound.m_input_ports;
  return arity;
}

BoundInfo::BoundInfo(const tarsia_op& op, const tarsia_op_request& request, AttributesAlone)
    : m_op(op),
      m_attributes(op, {request.attribute_names, request.n_attributes},
                   {request.attributes, request.n_attributes}) {
  m_info.size = sizeof(m_info);
  m_info.op = op.name;
  m_info.declared = &op;
  m_info.device = request.device;
  m_info.caller = this;
  publish_attributes();
}

BoundInfo::BoundInfo(const tarsia_op& op, const tarsia_op_request& request, WithoutInference)
    : BoundInfo(op, request, AttributesAlone{}) {
  settle_arity(request);
}

BoundInfo::BoundInfo(const tarsia_op& op, const tarsia_op_request& request)
    : BoundInfo(op, request, WithoutInference{}) {
  // If one of these throws, the destructor runs: the constructor above has ended.
  create_params();
  infer();
  tell_flags();  // inference fills in whole metas
}

BoundInfo::~BoundInfo() {
  destroy_params();
}

void BoundInfo::destroy_params() noexcept {
  if (!m_op.destroy_params || !m_info.params) return;
  run_step(m_op, "end of its attributes", &m_info, [&] { m_op.destroy_params(m_op.user, m_info.params); });
}

void BoundInfo::create_params() {
  if (!m_op.create_params) return;
  if (run_step(m_op, "attributes", &m_info,
               [&] { return m_op.create_params(m_op.user, &m_info, &m_info.params); }))
    throw_op_error(m_op, "attributes");
  for (unsigned i = 0; i < m_op.n_attributes; ++i) {
    const tarsia_attribute& attribute = m_op.attributes[i];
    if (attribute.set && run_step(m_op, attribute.name, &m_info, [&] {
          return attribute.set(static_cast<char*>(m_info.params) + attribute.offset,
                               &m_attributes.values()[i]);
        }))
      throw_op_error(m_op, attribute.name);
  }
}

void BoundInfo::count(std::uint32_t& n_inputs, std::uint32_t& n_outputs) {
  static constexpr const char* k_name = "number of inputs and outputs";
  if (run_step(m_op, k_name, &m_info, [&] { return m_op.arity(m_op.user, &m_info, &n_inputs, &n_outputs); }))
    throw_op_error(m_op, k_name);
}

void BoundInfo::mark_hidden() {
  std::uint32_t n_visible = static_cast<std::uint32_t>(m_outputs.size());
  const bool tells = TARSIA_DETAIL_GIVES(m_op, visible);
  static constexpr const char* k_name = "number of visible outputs";
  if (tells && run_step(m_op, k_name, &m_info, [&] { return m_op.visible(m_op.user, &m_info, &n_visible); }))
    throw_op_error(m_op, k_name);
  for (std::uint32_t i = 0; i < m_outputs.size(); ++i) {
    const bool is_hidden =
        tells ? i >= n_visible : i < m_op.n_outputs && m_op.outputs[i].flags & TARSIA_PORT_HIDDEN;
    m_hidden.push_back(is_hidden);
  }
  tell_flags();
}

void BoundInfo::tell_flags() {
  for (std::size_t i = 0; i < m_inputs.size(); ++i)
    m_inputs[i].flags |= m_input_ports[i].flags & TARSIA_PORT_MUTABLE;
  for (std::size_t i = 0; i < m_outputs.size(); ++i)
    m_outputs[i].flags = m_hidden[i] ? TARSIA_PORT_HIDDEN : 0;
}

void BoundInfo::name_inputs(std::uint32_t n, bool asks) {
  const std::span<const tarsia_port> ports(m_op.inputs, m_op.n_inputs);
  const bool is_variadic = !ports.empty() && ports.back().flags & TARSIA_PORT_VARIADIC;
  for (std::uint32_t i = 0; i < n; ++i)
    m_input_ports.push_back(i < ports.size() ? ports[i]
                            : is_variadic    ? ports.back()
                                             : tarsia_port{"", "", 0});
  static constexpr const char* k_name = "inference";
  if (asks && TARSIA_DETAIL_GIVES(m_op, name_inputs) && run_step(m_op, k_name, &m_info, [&] {
        return m_op.name_inputs(m_op.user, &m_info, m_input_ports.data(), n);
      }))
    throw_op_error(m_op, k_name);
  m_info.ports = m_input_ports.data();
}

void BoundInfo::settle_arity(const tarsia_op_request& request) {
  std::uint32_t n_inputs = m_op.n_inputs, n_outputs = m_op.n_outputs, n_needed = 0;
  bool variadic = false;
  for (unsigned i = 0; i < m_op.n_inputs; ++i) {
    if (m_op.inputs[i].flags & TARSIA_PORT_VARIADIC)
      variadic = true;
    else if (!(m_op.inputs[i].flags & TARSIA_PORT_OPTIONAL))
      n_needed = i + 1;
  }
  if (variadic) n_inputs = std::max(request.n_inputs, n_needed);
  if (m_op.arity) {
    // For ops that count what they are given, or look at it.
    m_inputs.assign(request.inputs, request.inputs + request.n_inputs);
    for (tarsia_meta& meta : m_inputs)
      if (meta.ndim > TARSIA_MAX_NDIM) meta = unknown_meta();  // which is told below
    m_info.inputs = m_inputs.data();
    m_info.n_inputs = request.n_inputs;
    count(n_inputs, n_outputs);
    n_needed = n_inputs;
  }
  name_inputs(n_inputs, true);
  if (request.n_inputs > n_inputs || request.n_inputs < n_needed) {
    const std::string wanted = variadic ? "at least " + std::to_string(n_needed)
                               : n_needed < n_inputs
                                   ? std::to_string(n_needed) + " to " + std::to_string(n_inputs)
                                   : std::to_string(n_inputs);
    std::string names;  // where attributes decide them
    for (unsigned i = 0; TARSIA_DETAIL_GIVES(m_op, name_inputs) && i < n_inputs; ++i)
      if (*m_input_ports[i].name)
        names += (names.empty() ? " ('" : ", '") + std::string(m_input_ports[i].name) + "'";
    throw ArgumentError::type_error(op_name(m_op) + " takes " + wanted + " input" +
                                    (wanted == "1" ? "" : "s") + (names.empty() ? "" : names + ")") +
                                    ", not " + std::to_string(request.n_inputs));
  }
  if (request.outputs && request.n_outputs && request.n_outputs != n_outputs)
    throw ArgumentError::type_error(op_name(m_op) + " has " + std::to_string(n_outputs) + " outputs, not " +
                                    std::to_string(request.n_outputs));
  m_inputs.assign(n_inputs, unknown_meta());
  m_outputs.assign(n_outputs, unknown_meta());
  for (unsigned i = 0; i < n_inputs; ++i) {
    if (i < request.n_inputs) m_inputs[i] = request.inputs[i];
    if (i < request.n_inputs && m_inputs[i].present) continue;
    const bool optional = i < m_op.n_inputs && (m_input_ports[i].flags & TARSIA_PORT_OPTIONAL);
    if (!optional) throw ArgumentError::type_error(op_name(m_op) + " needs " + input_name(i));
    m_inputs[i].present = 0;
  }
  for (unsigned i = 0; i < n_outputs && request.outputs && request.n_outputs; ++i)
    m_outputs[i] = request.outputs[i], m_outputs[i].present = 1;
  check_ndim();
  m_info.inputs = m_inputs.data();
  m_info.outputs = m_outputs.data();
  m_info.n_inputs = n_inputs;
  m_info.n_outputs = n_outputs;
  mark_hidden();
}

void BoundInfo::check_ndim() const {
  const auto refuse = [&](const tarsia_meta& meta, const std::string& name) {
    throw ArgumentError::value_error(op_name(m_op) + ": " + name + " has " + std::to_string(meta.ndim) +
                                     " dimensions; ops take up to " + std::to_string(TARSIA_MAX_NDIM));
  };
  for (unsigned i = 0; i < m_inputs.size(); ++i)
    if (m_inputs[i].ndim > TARSIA_MAX_NDIM) refuse(m_inputs[i], input_name(i));
  for (unsigned i = 0; i < m_outputs.size(); ++i)
    if (m_outputs[i].ndim > TARSIA_MAX_NDIM) refuse(m_outputs[i], output_name(i));
}

void BoundInfo::publish_attributes() {
  m_info.attributes = m_attributes.values().data();
  m_info.attribute_names = m_attributes.names().data();
  m_info.n_attributes = static_cast<std::uint32_t>(m_attributes.values().size());
}

void BoundInfo::infer() {
  if (m_op.flags & TARSIA_OP_INFERS_STORAGE) return infer_metas();
  std::vector<std::uint8_t> storages;
  for (std::vector<tarsia_meta>* metas : {&m_inputs, &m_outputs})
    for (tarsia_meta& meta : *metas) {
      storages.push_back(meta.storage == TARSIA_ANY_STORAGE || !meta.present
                             ? static_cast<std::uint8_t>(TARSIA_DENSE)
                             : meta.storage);
      meta.storage = TARSIA_DENSE;
    }
  infer_metas();
  size_t next = 0;
  for (std::vector<tarsia_meta>* metas : {&m_inputs, &m_outputs})
    for (tarsia_meta& meta : *metas) meta.storage = storages[next++];
}

void BoundInfo::take_choice(const char* name) {
  for (unsigned i = 0; i < m_op.n_implementations; ++i) {
    const tarsia_implementation& one = m_op.implementations[i];
    if (one.pass != TARSIA_FORWARD || !*name || std::strcmp(one.name, name) != 0) continue;
    m_info.chosen = one.name;
    return;
  }
  const std::string others = names_of(m_op, TARSIA_FORWARD, 0);
  throw Error(ErrorCode::op_value, "there is no forward of the name '" + std::string(name) +
                                       "' to choose; there " +
                                       (others.find("' ") == others.npos ? "is " : "are ") + others);
}

void BoundInfo::take_attribute(const char* name, const tarsia_value& value) {
  size_t i = 0;
  try {
    i = m_attributes.set(m_op, name, value);
  } catch (const ArgumentError& e) {  // of the author, whose op is named anyway
    const std::string prefix = op_name(m_op), text = e.what();
    const size_t skipped =
        text.starts_with(prefix) ? prefix.size() + (text[prefix.size()] == ':' ? 2 : 1) : 0;
    const bool is_type = e.code() == ErrorCode::argument_type;
    throw Error(is_type ? ErrorCode::op_type : ErrorCode::op_value, "set_attribute: " + text.substr(skipped));
  }
  publish_attributes();
  if (i >= m_op.n_attributes || !m_op.attributes[i].set) return;
  const tarsia_attribute& attribute = m_op.attributes[i];
  if (attribute.set(static_cast<char*>(m_info.params) + attribute.offset, &m_attributes.values()[i]))
    throw_last_error();
}

void BoundInfo::infer_metas() {
  const std::vector<tarsia_meta> inputs = m_inputs, outputs = m_outputs;
  if (!m_op.infer) {
    infer_elementwise();
    return;
  }
  static constexpr auto self = [](const tarsia_bind_info* info) {
    return static_cast<BoundInfo*>(info->caller);
  };
  m_info.choose = [](const tarsia_bind_info* info, const char* name) {
    return guarded([&] { self(info)->take_choice(name); });
  };
  m_info.set_attribute = [](const tarsia_bind_info* info, const char* name, const tarsia_value* value) {
    return guarded([&] { self(info)->take_attribute(name, *value); });
  };
  const std::int32_t code =
      run_step(m_op, "inference", &m_info, [&] { return m_op.infer(m_op.user, &m_info); });
  m_info.choose = nullptr;
  m_info.set_attribute = nullptr;
  if (code) throw_op_error(m_op, "inference");
  auto compare = [&](const std::vector<tarsia_meta>& known, std::vector<tarsia_meta>& inferred,
                     bool is_input) {
    for (unsigned i = 0; i < known.size(); ++i) {
      if (inferred[i].storage == TARSIA_ANY_STORAGE) inferred[i].storage = TARSIA_DENSE;
      if (known[i].present && !agree(known[i], inferred[i]))
        throw ArgumentError::value_error(op_name(m_op) + ": " + (is_input ? input_name(i) : output_name(i)) +
                                         " is " + describe(known[i]) + ", but the op infers " +
                                         describe(inferred[i]));
    }
  };
  compare(inputs, m_inputs, true);
  compare(outputs, m_outputs, false);
}

void BoundInfo::infer_elementwise() {
  tarsia_meta all = unknown_meta();
  std::string source;  // what `all` was learnt from
  auto learn = [&](const tarsia_meta& meta, const std::string& name) {
    const tarsia_meta before = all;
    if (has_dtype(meta) && !has_dtype(all)) all.dtype = meta.dtype;
    if (has_shape(meta) && !has_shape(all)) {
      all.ndim = meta.ndim;
      std::copy(meta.shape, meta.shape + meta.ndim, all.shape);
    }
    if (has_shape(meta) && meta.ndim == all.ndim)
      for (int i = 0; i < all.ndim; ++i)
        if (all.shape[i] < 0) all.shape[i] = meta.shape[i];
    tarsia_meta plain = meta;
    plain.storage = TARSIA_ANY_STORAGE;
    if (!agree(plain, all))
      throw ArgumentError::value_error(op_name(m_op) + ": " + source + " and " + name +
                                       " have to be of one shape and dtype, and are " + describe(before) +
                                       " and " + describe(meta));
    if (source.empty()) source = name;
  };
  for (unsigned i = 0; i < m_inputs.size(); ++i)
    if (m_inputs[i].present) learn(m_inputs[i], input_name(i));
  for (unsigned i = 0; i < m_outputs.size(); ++i) learn(m_outputs[i], output_name(i));
  auto fill = [&](tarsia_meta& meta) {
    const std::uint8_t storage = meta.storage;
    meta = all;
    meta.storage = storage == TARSIA_ANY_STORAGE ? static_cast<std::uint8_t>(TARSIA_DENSE) : storage;
  };
  for (tarsia_meta& meta : m_inputs)
    if (meta.present) fill(meta);
  for (tarsia_meta& meta : m_outputs) fill(meta);
}

void BoundInfo::require_complete() const {
  for (unsigned i = 0; i < m_inputs.size(); ++i)
    if (m_inputs[i].present && !is_complete(m_inputs[i]))
      throw ArgumentError::value_error(op_name(m_op) + ": " + input_name(i) +
                                       " is not fully known: " + describe(m_inputs[i]));
  for (unsigned i = 0; i < m_outputs.size(); ++i)
    if (!is_complete(m_outputs[i]))
      throw OpError(op_name(m_op) + ", inference: " + output_name(i) +
                    " is left unknown: " + describe(m_outputs[i]));
}

std::string BoundInfo::input_name(unsigned i) const {
  // Of a variadic port, the name and which of its tensors it is.
  const bool is_variadic =
      m_op.n_inputs && i + 1 >= m_op.n_inputs && m_op.inputs[m_op.n_inputs - 1].flags & TARSIA_PORT_VARIADIC;
  return port_name("input", i < m_input_ports.size() ? m_input_ports[i].name : "", i,
                   is_variadic ? std::optional(i + 1 - m_op.n_inputs) : std::nullopt);
}

std::string BoundInfo::output_name(unsigned i) const {
  const std::span<const tarsia_port> ports(m_op.outputs, m_op.n_outputs);
  if (!ports.empty() && i + 1 >= ports.size() && ports.back().flags & TARSIA_PORT_VARIADIC)
    return port_name("output", ports.back().name, i, i + 1 - m_op.n_outputs);
  return port_name("output", i < ports.size() ? ports[i].name : "", i, {});
}

}  // namespace tarsia::registry
