// Runs an implementation into separate memory, then copies or adds.
#include "registry/op/requests.h"

#include <cstring>

#include "base/error.h"
#include "registry/elements/sparse.h"
#include "registry/elements/sparse_add.h"
#include "registry/elements/tensor_math.h"
#include "registry/op/infer.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

RequestCopies::RequestCopies(const tarsia_implementation& implementation, const InplacePairs& pairs,
                             const PassLayouts& layouts, const tarsia_op_context& context)
    : m_context(context),
      m_asked(context),
      m_layouts(layouts),
      m_temporaries(context.n_outputs),
      m_sparse(context.n_outputs) {
  const bool backward = implementation.pass == TARSIA_BACKWARD;
  const tarsia_bind_info& info = *context.info;
  m_outputs.assign(context.outputs, context.outputs + context.n_outputs);
  m_requests.assign(context.requests, context.requests + context.n_outputs);
  for (std::uint32_t i = 0; i < context.n_outputs; ++i) {
    const std::uint8_t asked = m_requests[i];
    const bool honours = implementation.requests & (1u << (asked & 3));
    if (asked == TARSIA_REQUEST_NULL) {
      if (!honours) m_outputs[i] = separate(i, backward ? info.inputs[i] : info.outputs[i], info.device);
      continue;
    }
    const tarsia_meta& meta = backward ? info.inputs[i] : info.outputs[i];
    // The caller's tensor, if the implementation overwrites it. By a pair that shares, overwriting is writing
    // in place; "in place" without one is overwriting.
    const Sharing sharing = m_outputs[i] ? pairs.sharing_of(context, i) : Sharing::none;
    if (sharing != Sharing::wrong) {
      if (honours && (asked != TARSIA_REQUEST_INPLACE || sharing == Sharing::by_pair)) continue;
      if (asked == TARSIA_REQUEST_INPLACE || asked == TARSIA_REQUEST_WRITE) {
        m_requests[i] = TARSIA_REQUEST_WRITE;
        continue;
      }
    }
    m_outputs[i] = separate(i, meta, info.device);
  }
  m_context.outputs = m_outputs.data();
  m_context.requests = m_requests.data();
}

const tarsia_tensor* RequestCopies::separate(std::uint32_t i, const tarsia_meta& meta, tarsia_device device) {
  if (!meta.present) return m_outputs[i];
  m_requests[i] = TARSIA_REQUEST_WRITE;
  if (meta.storage != TARSIA_DENSE) {
    m_sparse[i] = empty_sparse(meta, device);
    return &m_sparse[i].whole;
  }
  tarsia_tensor& temporary = m_temporaries[i];
  temporary.device = device;
  temporary.ndim = meta.ndim;
  temporary.dtype = meta.dtype;
  temporary.shape = const_cast<std::int64_t*>(meta.shape);
  temporary.strides = const_cast<std::int64_t*>(m_layouts.strides_of_output(i));
  temporary.data = call_scratch(bytes_of(meta.shape, meta.ndim, meta.dtype), device);
  return &temporary;
}

RequestCopies::~RequestCopies() {
  for (tarsia_sparse& sparse : m_sparse) release_parts(sparse);
}

void RequestCopies::finish() {
  for (std::uint32_t i = 0; i < m_asked.n_outputs; ++i) {
    if (m_asked.requests[i] == TARSIA_REQUEST_NULL) continue;
    if (m_sparse[i].whole.shape) add_sparse(m_asked, i, m_sparse[i]);
    if (!m_temporaries[i].data) continue;
    // Both lie alike, so places in memory correspond.
    tarsia_tensor to = *m_asked.outputs[i], from = m_temporaries[i];
    to.strides = from.strides = nullptr;
    if (m_asked.requests[i] == TARSIA_REQUEST_ADD)
      add_to(to, from, m_context.stream);
    else
      copy(to, from, m_context.stream);
  }
}

}  // namespace tarsia::registry
