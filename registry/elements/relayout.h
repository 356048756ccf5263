// Copies of tensors whose elements lie in another order.
#pragma once

#include <tarsia/abi.h>

namespace tarsia::registry {

/// Copies every element to the place with the same index. Both tensors have one shape and dtype and lie on
/// one device; strides may be any under which no two elements of `to` share memory. They do not overlap. On a
/// GPU, ordered on the stream. Throws CudaError.
void relayout(const tarsia_tensor& to, const tarsia_tensor& from, void* stream);

}  // namespace tarsia::registry
