// Sparse outputs of unknown size: made by the framework of the caller when the op knows how large they are.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>

namespace tarsia::registry {

/// tarsia_op_context.allocate_sparse.
std::int32_t allocate_sparse(const tarsia_op_context* context, std::uint32_t i, std::int64_t n_indices,
                             std::int64_t n_indptr) noexcept;

/// An output to be filled, of this meta; whoever has it calls release_parts.
tarsia_sparse empty_sparse(const tarsia_meta& meta, tarsia_device device);

/// Gives what allocate_sparse made back.
void release_parts(tarsia_sparse& sparse) noexcept;

}  // namespace tarsia::registry
