// Runs an op on memory with guards around it, for the checks.
#include "registry/check/check_session.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "base/cuda/cuda_driver.h"
#include "base/error.h"
#include "registry/check/watched_memory.h"
#include "registry/elements/dtypes.h"
#include "registry/elements/sparse.h"
#include "registry/op/needs.h"
#include "registry/resources/call_context.h"
#include "registry/resources/last_error.h"
#include "registry/resources/memory.h"
#include "registry/resources/random.h"

namespace tarsia::registry {

namespace {

/// A tensor for a run. `strides`: how the implementation takes it, so that no copy hides what it does; null:
/// row-major.
class Operand {
 public:
  Operand(const CheckValue& value, const CheckCase& c, const std::int64_t* strides,
          const Operand* shares = nullptr)
      : m_value(value), m_strides(strides) {
    const tarsia_meta& meta = m_value.meta;
    m_sparse = empty_sparse(meta, c.device);
    if (meta.storage == TARSIA_DENSE) {
      const std::vector<unsigned char> data = laid_out(value, strides).data;
      m_data = shares ? shares->m_data
                      : std::make_shared<WatchedMemory>(data.data(), data.size(), c.device, c.exact);
      m_sparse.whole.data = m_data->address();
      m_sparse.whole.strides = const_cast<std::int64_t*>(strides);
      return;
    }
    if (value.indices.empty() && value.data.empty() && shares == nullptr && value.indptr.empty()) return;
    m_data = std::make_shared<WatchedMemory>(value.data.data(), value.data.size(), c.device, c.exact);
    m_indices =
        std::make_unique<WatchedMemory>(value.indices.data(), value.indices.size() * 8, c.device, c.exact);
    m_indptr =
        std::make_unique<WatchedMemory>(value.indptr.data(), value.indptr.size() * 8, c.device, c.exact);
    m_n_indices = static_cast<std::int64_t>(value.indices.size());
    m_n_indptr = static_cast<std::int64_t>(value.indptr.size());
    m_shape.assign(meta.shape, meta.shape + meta.ndim);
    m_shape[0] = m_n_indices;
    set_part(m_sparse.values, *m_data, meta.storage == TARSIA_CSR ? &m_n_indices : m_shape.data(),
             meta.storage == TARSIA_CSR ? 1 : meta.ndim, meta.dtype, c.device);
    set_part(m_sparse.indices, *m_indices, &m_n_indices, 1, k_int64, c.device);
    if (meta.storage == TARSIA_CSR) set_part(m_sparse.indptr, *m_indptr, &m_n_indptr, 1, k_int64, c.device);
  }
  ~Operand() { release_parts(m_sparse); }
  Operand(const Operand&) = delete;

  const tarsia_tensor* tensor() const { return m_value.meta.present ? &m_sparse.whole : nullptr; }

  /// The content after the run.
  CheckValue fetch() {
    CheckValue now = m_value;
    if (now.meta.storage == TARSIA_DENSE) {
      if (m_data) std::memcpy(now.data.data(), m_data->fetch(), now.data.size());
      return row_major(std::move(now), m_strides);
    }
    if (!m_sparse.made[0]) {
      if (m_data) {
        std::memcpy(now.data.data(), m_data->fetch(), now.data.size());
        std::memcpy(now.indices.data(), m_indices->fetch(), now.indices.size() * 8);
        std::memcpy(now.indptr.data(), m_indptr->fetch(), now.indptr.size() * 8);
      }
      return now;
    }
    auto take = [](auto& list, const tarsia_tensor& part) {
      using T = std::remove_reference_t<decltype(list[0])>;
      const std::uint64_t bytes = bytes_of(part.shape, part.ndim, part.dtype);
      list.resize(bytes / sizeof(T));
      std::int64_t n = static_cast<std::int64_t>(bytes);
      tarsia_tensor to{}, from = part;
      to.data = list.data(), to.device = {TARSIA_CPU, 0};
      for (tarsia_tensor* t : {&to, &from}) t->ndim = 1, t->dtype = k_uint8, t->shape = &n;
      if (bytes) copy(to, from, nullptr);
    };
    take(now.data, m_sparse.values);
    take(now.indices, m_sparse.indices);
    now.indptr.clear();
    if (now.meta.storage == TARSIA_CSR) take(now.indptr, m_sparse.indptr);
    return now;
  }
  /// After fetch().
  std::string damage() const {
    for (const WatchedMemory* w : {m_data.get(), m_indices.get(), m_indptr.get()})
      if (w && *w->damage()) return w->damage();
    return "";
  }
  bool is_changed(const CheckValue& now) const {
    return now.data != m_value.data || now.indices != m_value.indices || now.indptr != m_value.indptr;
  }

 private:
  static void set_part(tarsia_tensor& part, const WatchedMemory& memory, const std::int64_t* shape, int ndim,
                       tarsia_dtype dtype, tarsia_device device) {
    part.data = memory.address();
    part.device = device;
    part.ndim = ndim;
    part.dtype = dtype;
    part.shape = const_cast<std::int64_t*>(shape);
  }

  CheckValue m_value;
  const std::int64_t* m_strides;
  std::shared_ptr<WatchedMemory> m_data;
  std::unique_ptr<WatchedMemory> m_indices, m_indptr;
  std::int64_t m_n_indices = 0, m_n_indptr = 0;
  std::vector<std::int64_t> m_shape;
  tarsia_sparse m_sparse{};
};

/// The scratch of a run. Its bytes are others in each run, and it is watched as the tensors are.
class WatchedScratch final : public ScratchSource {
 public:
  explicit WatchedScratch(bool exact)
      : m_exact(exact), m_fill(static_cast<unsigned char>(0x40 + ++s_runs % 12)) {}

  void* take(std::uint64_t bytes, tarsia_device device) override {
    const std::vector<unsigned char> content(bytes, m_fill);
    m_blocks.push_back(std::make_unique<WatchedMemory>(content.data(), content.size(), device, m_exact));
    return m_blocks.back()->address();
  }
  /// After the run: "", or a description of the first write around a block.
  std::string damage() {
    for (const std::unique_ptr<WatchedMemory>& block : m_blocks) {
      block->fetch();
      if (*block->damage())
        return "scratch of " + std::to_string(block->bytes()) + " bytes: " + block->damage();
    }
    return "";
  }

 private:
  static inline std::atomic<std::uint64_t> s_runs{0};
  bool m_exact;
  unsigned char m_fill;
  std::vector<std::unique_ptr<WatchedMemory>> m_blocks;
};

/// The text for a tensor, and what its number counts from if it has no name.
std::string spelt_out(std::string text, const tarsia_port* port) {
  return port && *port->name ? text : text + " (counted from 0)";
}

}  // namespace

std::string tensor_name(const BoundInfo& bound, tarsia_pass pass, bool is_output, size_t i) {
  const size_t n_in = bound.inputs().size(), n_out = bound.outputs().size();
  const tarsia_op& op = bound.op();
  const auto input = [&](size_t k) {
    return spelt_out(bound.input_name(static_cast<unsigned>(k)), &bound.input_ports()[k]);
  };
  const auto output = [&](size_t k) {
    const auto i = static_cast<unsigned>(k);
    return spelt_out(bound.output_name(i), port_of(op.outputs, op.n_outputs, i));
  };
  if (pass == TARSIA_FORWARD) return is_output ? output(i) : input(i);
  if (is_output) return "the gradient of " + input(i);
  return i < n_out          ? "the gradient of " + output(i)
         : i < n_out + n_in ? input(i - n_out)
                            : output(i - n_out - n_in);
}

CheckRequest::CheckRequest(const CheckCase& c, const std::vector<tarsia_meta>& outputs) {
  for (const auto& [name, text] : c.attributes) {
    m_names.push_back(name.c_str());
    tarsia_value value{};
    value.kind = TARSIA_KIND_STRING;
    value.s = text.c_str();
    value.size = static_cast<std::uint32_t>(text.size());
    m_values.push_back(value);
  }
  m_request.size = sizeof(m_request);
  m_request.n_inputs = static_cast<std::uint32_t>(c.inputs.size());
  m_request.inputs = c.inputs.data();
  m_request.n_outputs = static_cast<std::uint32_t>(outputs.size());
  m_request.outputs = outputs.data();
  m_request.n_attributes = static_cast<std::uint32_t>(m_names.size());
  m_request.attribute_names = m_names.data();
  m_request.attributes = m_values.data();
  m_request.device = c.device;
}

CheckSession::CheckSession(const Ref<OpEntry>& entry, const CheckCase& c) : m_case(c) {
  seed_random(c.seed + c.other_states);
  CallFrame frame(c.device);
  const CheckRequest request(m_case);
  m_bound = Ref<BoundOp>::adopt(new BoundOp(entry, request.get()));
  m_writes = find_inputs("writes", m_case.writes);
  m_constants = find_inputs("constants", m_case.constants);
}

std::vector<size_t> CheckSession::find_inputs(const char* what, const std::vector<std::string>& names) const {
  const BoundInfo& bound = m_bound->bound();
  std::vector<size_t> found;
  for (const std::string& wanted : names) {
    size_t i = 0;
    while (i < bound.inputs().size() && wanted != bound.input_ports()[i].name && wanted != std::to_string(i))
      ++i;
    if (i == bound.inputs().size()) {
      std::string known;
      for (size_t k = 0; k < bound.inputs().size(); ++k)
        known += (k ? ", " : "") + tensor_name(bound, TARSIA_FORWARD, false, k);
      throw ArgumentError::value_error(std::string(what) + " names '" + wanted + "', and the op has " +
                                       (known.empty() ? "no inputs" : known));
    }
    found.push_back(i);
  }
  return found;
}

bool CheckSession::wants_gradient(size_t input) const {
  return m_bound->has_gradient(static_cast<std::uint32_t>(input)) &&
         std::ranges::find(m_constants, input) == m_constants.end();
}

CheckOutcome CheckSession::call(const CheckRun& run, tarsia_pass pass) {
  std::vector<std::unique_ptr<Operand>> inputs, outputs;
  std::vector<const tarsia_tensor*> in, out;
  const PassLayouts& layouts = m_bound->layouts(pass);
  for (const CheckValue& value : run.inputs) {
    const std::int64_t* strides = layouts.strides_of_input(static_cast<std::uint32_t>(inputs.size()));
    inputs.push_back(std::make_unique<Operand>(value, m_case, strides));
    in.push_back(inputs.back()->tensor());
  }
  auto shared = [&](size_t i) { return i < run.shared.size() ? run.shared[i] : -1; };
  for (size_t i = 0; i < run.outputs.size(); ++i) {
    const Operand* with = shared(i) < 0 ? nullptr : inputs[static_cast<size_t>(shared(i))].get();
    const std::int64_t* strides = layouts.strides_of_output(static_cast<std::uint32_t>(i));
    outputs.push_back(std::make_unique<Operand>(run.outputs[i], m_case, strides, with));
    const bool left_out =
        run.without_null_outputs && !run.requests.empty() && run.requests[i] == TARSIA_REQUEST_NULL;
    out.push_back(left_out ? nullptr : outputs.back()->tensor());
  }
  tarsia_op_call call{};
  call.size = sizeof(call);
  call.n_inputs = static_cast<std::uint32_t>(in.size());
  call.n_outputs = static_cast<std::uint32_t>(out.size());
  call.inputs = in.data();
  call.outputs = out.data();
  call.requests = run.requests.empty() ? nullptr : run.requests.data();
  call.pass = pass;
  CheckOutcome outcome;
  CallFrame frame(m_case.device);
  outcome.code = guarded([&] { m_bound->check(call); });
  WatchedScratch scratch(m_case.exact);
  if (!outcome.code) {
    const ScratchScope from(&scratch);
    outcome.code = m_bound->call(call);
  }
  if (outcome.code) {
    outcome.error = last_error().message;
    return outcome;
  }
  const BoundInfo& bound = m_bound->bound();
  const size_t first = pass == TARSIA_BACKWARD ? bound.outputs().size() : 0;
  auto is_mutable = [&](size_t i) {
    if (i < first || i >= first + bound.inputs().size()) return false;
    return (bound.input_flags(i - first) & TARSIA_PORT_MUTABLE) != 0 ||
           std::ranges::find(m_writes, i - first) != m_writes.end();
  };
  auto is_shared = [&](size_t i) {
    for (int s : run.shared)
      if (s == static_cast<int>(i)) return true;
    return false;
  };
  auto say = [&](const std::string& what) {
    if (outcome.trouble.empty()) outcome.trouble = what;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const CheckValue now = inputs[i]->fetch();
    const std::string name = tensor_name(bound, pass, false, i);
    if (const std::string damage = inputs[i]->damage(); !damage.empty()) say(name + ": " + damage);
    if (inputs[i]->is_changed(now) && !is_mutable(i) && !is_shared(i))
      say(name +
          " is written to, and is not declared mutable. If the op has to write to it, pass its name "
          "in writes (tarsia check --writes)");
  }
  for (size_t i : m_writes) outcome.written.push_back(inputs[first + i]->fetch());
  for (size_t i = 0; i < outputs.size(); ++i) {
    outcome.outputs.push_back(outputs[i]->fetch());
    if (const std::string damage = outputs[i]->damage(); !damage.empty())
      say(tensor_name(bound, pass, true, i) + ": " + damage);
  }
  say(scratch.damage());
  return outcome;
}

}  // namespace tarsia::registry
