// Sparse outputs of unknown size. The caller's framework makes them when the op knows how large they are.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>

namespace tarsia::registry {

/// The number of elements, or rows, of a part of a sparse tensor; 0 for an absent one.
inline std::int64_t part_size(const tarsia_tensor& part) {
  return part.shape ? part.shape[0] : 0;
}

/// tarsia_op_context.allocate_sparse.
std::int32_t allocate_sparse(const tarsia_op_context* context, std::uint32_t i, std::int64_t n_indices,
                             std::int64_t n_indptr) noexcept;

/// An output of this meta, to be filled. Its holder calls release_parts.
tarsia_sparse empty_sparse(const tarsia_meta& meta, tarsia_device device);

/// Gives back the parts that allocate_sparse made.
void release_parts(tarsia_sparse& sparse) noexcept;

}  // namespace tarsia::registry
