// Dense tensors of sparse ones, and the other way round.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>

namespace tarsia::registry {

/// Fills `to`, contiguous and of the same shape, dtype and device, with the elements of a CSR or row-sparse
/// tensor, and zeros. What is stored twice at one place is added up. On a GPU, ordered on the stream. Throws.
void make_dense(const tarsia_tensor& to, const tarsia_sparse& from, tarsia_storage_type storage,
                void* stream);

/// Gives sparse output i of the context the elements of `from` that are not zero, or the rows that are not
/// all zeros. Waits for a GPU. Throws.
void make_sparse(const tarsia_op_context& context, std::uint32_t i, const tarsia_tensor& from);

}  // namespace tarsia::registry
