// The write request "add" for sparse outputs of ops that only overwrite.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>

namespace tarsia::registry {

/// Replaces output i of the context by the sum of its content and `more`, of the same meta: elements or
/// rows in increasing order, each once. The sum's size depends on the data, so a GPU's tensors are added on
/// the CPU, after a wait for them. Throws.
void add_sparse(const tarsia_op_context& context, std::uint32_t i, const tarsia_sparse& more);

}  // namespace tarsia::registry
