// Runs an implementation into separate memory, then copies or adds.
#include "registry/op/requests.h"

#include <cstring>

#include "base/error.h"
#include "registry/op/infer.h"
#include "registry/op/sparse.h"
#include "registry/op/sparse_add.h"
#include "registry/op/tensor_math.h"
#include "registry/resources/call_context.h"
#include "registry/resources/memory.h"

namespace tarsia::registry {

RequestCopies::RequestCopies(const tarsia_op& op, const tarsia_implementation& implementation,
                             const tarsia_op_context& context)
    : m_context(context), m_asked(context), m_temporaries(context.n_outputs), m_sparse(context.n_outputs) {
  const bool backward = implementation.pass == TARSIA_BACKWARD;
  const tarsia_bind_info& info = *context.info;
  m_outputs.assign(context.outputs, context.outputs + context.n_outputs);
  m_requests.assign(context.requests, context.requests + context.n_outputs);
  // A declared pair may share memory. If both are the same tensor, overwriting is writing in place.
  auto is_pair = [&](std::uint32_t output) {
    if (backward) return false;
    for (unsigned i = 0; i < op.n_inplace; ++i) {
      if (op.inplace[i].input >= context.n_inputs) continue;  // the attributes decide how many there are
      const tarsia_tensor* input = context.inputs[op.inplace[i].input];
      if (op.inplace[i].output == output && input && data_of(*input) == data_of(*context.outputs[output]))
        return true;
    }
    return false;
  };
  for (std::uint32_t i = 0; i < context.n_outputs; ++i) {
    if (implementation.requests & (1u << (m_requests[i] & 3))) continue;
    const std::uint8_t asked = m_requests[i];
    m_requests[i] = TARSIA_REQUEST_WRITE;
    if (asked == TARSIA_REQUEST_INPLACE && is_pair(i)) continue;
    const tarsia_meta& meta = backward ? info.inputs[i] : info.outputs[i];
    if (meta.storage != TARSIA_DENSE && asked == TARSIA_REQUEST_INPLACE) continue;
    if (backward && !meta.present) continue;
    if (meta.storage != TARSIA_DENSE) {
      m_sparse[i] = empty_sparse(meta, info.device);
      m_outputs[i] = &m_sparse[i].whole;
      continue;
    }
    tarsia_tensor& temporary = m_temporaries[i];
    temporary.device = info.device;
    temporary.ndim = meta.ndim;
    temporary.dtype = meta.dtype;
    temporary.shape = const_cast<std::int64_t*>(meta.shape);
    temporary.data = call_scratch(bytes_of(meta.shape, meta.ndim, meta.dtype), info.device);
    m_outputs[i] = &temporary;
  }
  m_context.outputs = m_outputs.data();
  m_context.requests = m_requests.data();
}

RequestCopies::~RequestCopies() {
  for (tarsia_sparse& sparse : m_sparse) release_parts(sparse);
}

void RequestCopies::finish() {
  for (std::uint32_t i = 0; i < m_asked.n_outputs; ++i) {
    if (m_asked.requests[i] == TARSIA_REQUEST_NULL) continue;
    if (m_sparse[i].whole.shape) add_sparse(m_asked, i, m_sparse[i]);
    if (!m_temporaries[i].data) continue;
    if (m_asked.requests[i] == TARSIA_REQUEST_ADD)
      add_to(*m_asked.outputs[i], m_temporaries[i], m_context.stream);
    else
      copy(*m_asked.outputs[i], m_temporaries[i], m_context.stream);
  }
}

}  // namespace tarsia::registry
