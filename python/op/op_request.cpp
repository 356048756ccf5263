// Fills the request that an op is bound with, from tensors and attributes.
#include "python/op/op_request.h"

#include <algorithm>

namespace tarsia::python {

tarsia_meta meta_of(const tarsia_tensor* tensor, uint8_t storage) {
  tarsia_meta meta{};
  meta.ndim = -1;
  meta.dtype = {TARSIA_ANY_DTYPE, 0, 0};
  if (!tensor) return meta;
  meta.present = 1;
  meta.storage = storage;
  meta.ndim = tensor->ndim;
  meta.dtype = tensor->dtype;
  std::copy_n(tensor->shape, std::min<int32_t>(tensor->ndim, TARSIA_MAX_NDIM), meta.shape);
  return meta;
}

tarsia_op_request request_for(const std::vector<tarsia_meta>& inputs, const Attributes& attributes,
                              tarsia_device device) {
  tarsia_op_request request{};
  request.size = sizeof request;
  request.n_inputs = static_cast<uint32_t>(inputs.size());
  request.inputs = inputs.data();
  request.n_attributes = static_cast<uint32_t>(attributes.names.size());
  request.attribute_names = attributes.names.data();
  request.attributes = attributes.values.data();
  request.device = device;
  return request;
}

}  // namespace tarsia::python
