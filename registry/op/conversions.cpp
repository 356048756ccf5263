// Which tensors of a run are converted; registry/elements/storage_cast.* converts one.
#include "registry/op/conversions.h"

#include <tarsia/detail/names.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "base/log.h"
#include "registry/elements/sparse.h"
#include "registry/elements/sparse_add.h"
#include "registry/elements/storage_cast.h"
#include "registry/op/choice.h"
#include "registry/op/inplace.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

namespace {

bool is_sparse(const tarsia_meta& meta) {
  return meta.present && meta.storage != TARSIA_DENSE;
}

const tarsia_sparse& sparse_of(const tarsia_tensor* tensor) {
  return *reinterpret_cast<const tarsia_sparse*>(tensor);
}

}  // namespace

ConversionCounters& conversion_counters() {
  static ConversionCounters s_counters;
  return s_counters;
}

bool has_sparse(const BoundInfo& bound) {
  return std::ranges::any_of(bound.inputs(), is_sparse) || std::ranges::any_of(bound.outputs(), is_sparse);
}

DenseInfo::DenseInfo(const BoundInfo& bound)
    : m_inputs(bound.inputs().begin(), bound.inputs().end()),
      m_outputs(bound.outputs().begin(), bound.outputs().end()),
      m_info(bound.info()) {
  for (tarsia_meta& meta : m_inputs) meta.storage = TARSIA_DENSE;
  for (tarsia_meta& meta : m_outputs) meta.storage = TARSIA_DENSE;
  m_info.inputs = m_inputs.data();
  m_info.outputs = m_outputs.data();
}

std::vector<std::string> describe_conversions(const BoundInfo& bound, tarsia_pass pass,
                                              std::span<const std::uint8_t> needs) {
  const bool backward = pass == TARSIA_BACKWARD;
  std::vector<std::string> texts;
  std::size_t taken = 0;
  const auto take = [&](const std::string& name, const tarsia_meta& meta) {
    const std::size_t i = taken++;
    if (is_sparse(meta) && (needs.empty() || needs[i]))
      texts.push_back(name + ": " + detail::k_storage_names[meta.storage] + " -> dense");
  };
  const auto make = [&](const std::string& name, const tarsia_meta& meta) {
    if (is_sparse(meta)) texts.push_back(name + ": dense -> " + detail::k_storage_names[meta.storage]);
  };
  const auto inputs = bound.inputs(), outputs = bound.outputs();
  for (unsigned i = 0; backward && i < outputs.size(); ++i)
    take("gradient of " + bound.output_name(i), outputs[i]);
  for (unsigned i = 0; i < inputs.size(); ++i) take(bound.input_name(i), inputs[i]);
  for (unsigned i = 0; i < outputs.size(); ++i)
    backward ? take(bound.output_name(i), outputs[i]) : make(bound.output_name(i), outputs[i]);
  for (unsigned i = 0; backward && i < inputs.size(); ++i)
    make("gradient of " + bound.input_name(i), inputs[i]);
  return texts;
}

std::uint64_t converted_bytes(const tarsia_bind_info& info, tarsia_pass pass,
                              const std::vector<std::uint8_t>& needs) {
  std::uint64_t bytes = 0;
  const auto add = [&](const tarsia_meta& meta) {
    if (is_sparse(meta)) bytes += scratch_piece(bytes_of(meta.shape, meta.ndim, meta.dtype));
  };
  for (std::uint32_t i = 0; i < count_inputs(info, pass); ++i)
    if (needs.empty() || needs[i]) add(meta_of_input(info, pass, i));
  for (std::uint32_t i = 0; i < count_outputs(info, pass); ++i) add(meta_of_output(info, pass, i));
  return bytes;
}

void tell_conversions(const tarsia_op& op, tarsia_pass pass, const std::vector<std::string>& conversions) {
  conversion_counters().bindings.fetch_add(1, std::memory_order_relaxed);
  std::string text = std::string("op '") + op.name + "', " + pass_name(pass) +
                     ": no implementation takes these storage types, so every call converts ";
  for (const std::string& one : conversions) text += (&one == &conversions.front() ? "" : ", ") + one;
  static std::mutex s_mutex;
  static auto& s_told = *new std::set<std::string>();
  {
    const std::scoped_lock lock(s_mutex);
    if (!s_told.insert(text).second) return;
  }
  log().info("{}", text);
}

DenseRun::DenseRun(const tarsia_op_context& asked, const tarsia_bind_info& dense)
    : m_context(asked), m_asked(asked) {
  const auto pass = static_cast<tarsia_pass>(asked.pass);
  const tarsia_bind_info& info = *asked.info;
  m_made.reserve(asked.n_inputs + asked.n_outputs);
  m_inputs.assign(asked.inputs, asked.inputs + asked.n_inputs);
  m_outputs.assign(asked.outputs, asked.outputs + asked.n_outputs);
  m_requests.assign(asked.requests, asked.requests + asked.n_outputs);
  for (std::uint32_t i = 0; i < asked.n_inputs; ++i) {
    const tarsia_meta& meta = meta_of_input(info, pass, i);
    if (!is_sparse(meta) || !m_inputs[i]) continue;
    const tarsia_tensor* memory = dense_memory(meta);
    make_dense(*memory, sparse_of(m_inputs[i]), static_cast<tarsia_storage_type>(meta.storage), asked.stream);
    m_inputs[i] = memory;
  }
  for (std::uint32_t i = 0; i < asked.n_outputs; ++i) {
    const tarsia_meta& meta = meta_of_output(info, pass, i);
    if (!is_sparse(meta)) continue;
    const bool is_wanted = m_requests[i] != TARSIA_REQUEST_NULL && m_outputs[i];
    m_outputs[i] = is_wanted ? dense_memory(meta) : nullptr;
    m_requests[i] = is_wanted ? TARSIA_REQUEST_WRITE : TARSIA_REQUEST_NULL;
  }
  m_context.info = &dense;
  m_context.inputs = m_inputs.data();
  m_context.outputs = m_outputs.data();
  m_context.requests = m_requests.data();
  conversion_counters().tensors.fetch_add(m_made.size(), std::memory_order_relaxed);
}

const tarsia_tensor* DenseRun::dense_memory(const tarsia_meta& meta) {
  tarsia_tensor& memory = m_made.emplace_back();
  memory.device = m_asked.device;
  memory.ndim = meta.ndim;
  memory.dtype = meta.dtype;
  memory.shape = const_cast<std::int64_t*>(meta.shape);
  memory.data = call_scratch(bytes_of(meta.shape, meta.ndim, meta.dtype), m_asked.device);
  return &memory;
}

void DenseRun::finish() {
  const auto pass = static_cast<tarsia_pass>(m_asked.pass);
  for (std::uint32_t i = 0; i < m_asked.n_outputs; ++i) {
    const tarsia_meta& meta = meta_of_output(*m_asked.info, pass, i);
    if (!is_sparse(meta) || m_requests[i] == TARSIA_REQUEST_NULL) continue;
    if (m_asked.requests[i] != TARSIA_REQUEST_ADD) {
      make_sparse(m_asked, i, *m_outputs[i]);
      continue;
    }
    struct Summand : tarsia_sparse {
      ~Summand() { release_parts(*this); }
    } summand{empty_sparse(meta, m_asked.device)};
    std::vector<const tarsia_tensor*> outputs(m_asked.n_outputs);
    outputs[i] = &summand.whole;
    tarsia_op_context context = m_asked;
    context.outputs = outputs.data();
    make_sparse(context, i, *m_outputs[i]);
    add_sparse(m_asked, i, summand);
  }
}

}  // namespace tarsia::registry
