// What a backward takes of the output gradients, the inputs and the outputs, as its op declares.
#pragma once

#include <tarsia/op_abi.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "registry/op/infer.h"

namespace tarsia::registry {

/// The port of tensor i: the last one stands for all that follow it. Null if there are no ports.
const tarsia_port* port_of(const tarsia_port* ports, std::uint32_t n, std::uint32_t i);

/// What tensor i of a backward is of: the port, or null if there are no ports, and whether it is the port's
/// gradient. Output gradients, inputs and outputs count in one row.
struct BackwardPort {
  const tarsia_port* port;
  bool is_gradient;
};
BackwardPort port_of_backward(const tarsia_op& op, std::uint32_t n_inputs, std::uint32_t n_outputs,
                              std::uint32_t i);

/// Whether a name in a declaration is that of a port, or of its gradient: "d" and the port's name.
bool is_name_of(std::string_view name, const tarsia_port& port, bool is_gradient);

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
