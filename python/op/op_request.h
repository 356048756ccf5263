// The request that binds an op: metas of its inputs, attributes, a device.
#pragma once

#include <vector>

#include "python/op/attributes.h"

namespace tarsia::python {

/// The meta of an input; null means absent. Of more than TARSIA_MAX_NDIM extents, which libtarsia refuses,
/// only the first ones.
tarsia_meta meta_of(const tarsia_tensor* tensor, uint8_t storage = TARSIA_DENSE);

/// Borrows from the objects that it is made of.
tarsia_op_request request_for(const std::vector<tarsia_meta>& inputs, const Attributes& attributes,
                              tarsia_device device);

}  // namespace tarsia::python
