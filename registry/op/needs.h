// What a backward takes of the output gradients, the inputs and the outputs, as its op declares.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "registry/op/infer.h"

namespace tarsia::registry {

/// Whether the op declares that its backward does without something.
bool has_needs(const tarsia_op& op);

/// For each output gradient, input and output, in one row, whether backward takes it by the names that the op
/// declares. A port of any number of tensors counts with each of them. All 1 if the op declares none.
std::vector<std::uint8_t> declared_needs(const tarsia_op& op, std::uint32_t n_inputs,
                                         std::uint32_t n_outputs);

/// The same of an op that is bound, which its function of needs has amended. Empty: backward takes all.
/// Throws what that function does.
std::vector<std::uint8_t> needs_of(const BoundInfo& bound);

/// Says what is wrong with a name among those that a backward needs; "" if nothing is.
std::string fault_of_need(const tarsia_op& op, std::string_view name);

}  // namespace tarsia::registry
