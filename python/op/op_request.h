// The request that binds an op: metas of its inputs, attributes, a device.
#pragma once

#include <vector>

#include "python/op/attributes.h"

namespace tarsia::python {

/// Of an input; null: an absent one. Of more than TARSIA_MAX_NDIM extents, which libtarsia refuses, the
/// first.
tarsia_meta meta_of(const tarsia_tensor* tensor, uint8_t storage = TARSIA_DENSE);

/// Borrows from what it is made of.
tarsia_op_request request_for(const std::vector<tarsia_meta>& inputs, const Attributes& attributes,
                              tarsia_device device);

}  // namespace tarsia::python
