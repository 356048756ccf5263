// Names of what a backward takes: "x" and "y" of ports, "dy" of the gradient of an output "y".
#include "registry/op/needs.h"

#include <tarsia/detail/support.h>

#include <algorithm>
#include <span>

#include "registry/op/op_step.h"

namespace tarsia::registry {

namespace {

/// Descriptions by an older header end before these fields.
bool knows_needs(const tarsia_op& op) {
  return TARSIA_DETAIL_HAS_FIELD(op, needs);
}

}  // namespace

const tarsia_port* port_of(const tarsia_port* ports, std::uint32_t n, std::uint32_t i) {
  return n ? ports + std::min(i, n - 1) : nullptr;
}

BackwardPort port_of_backward(const tarsia_op& op, std::uint32_t n_inputs, std::uint32_t n_outputs,
                              std::uint32_t i) {
  if (i < n_outputs) return {port_of(op.outputs, op.n_outputs, i), true};
  if (i < n_outputs + n_inputs) return {port_of(op.inputs, op.n_inputs, i - n_outputs), false};
  return {port_of(op.outputs, op.n_outputs, i - n_outputs - n_inputs), false};
}

bool is_name_of(std::string_view name, const tarsia_port& port, bool is_gradient) {
  if (!is_gradient) return name == port.name;
  return name.starts_with('d') && name.substr(1) == port.name;
}

bool has_needs(const tarsia_op& op) {
  return knows_needs(op) && (op.backward_needs || op.needs);
}

std::vector<std::uint8_t> declared_needs(const tarsia_op& op, std::uint32_t n_inputs,
                                         std::uint32_t n_outputs) {
  std::vector<std::uint8_t> needs(2 * std::size_t{n_outputs} + n_inputs, 1);
  if (!has_needs(op) || !op.backward_needs) return needs;
  const std::span<const char* const> names(op.backward_needs, op.n_backward_needs);
  for (std::uint32_t i = 0; i < needs.size(); ++i) {
    const BackwardPort of = port_of_backward(op, n_inputs, n_outputs, i);
    needs[i] = of.port && std::ranges::any_of(names, [&](std::string_view name) {
                 return is_name_of(name, *of.port, of.is_gradient);
               });
  }
  return needs;
}

std::vector<std::uint8_t> needs_of(const BoundInfo& bound) {
  const tarsia_op& op = bound.op();
  if (!has_needs(op)) return {};
  const tarsia_bind_info& info = bound.info();
  std::vector<std::uint8_t> needs = declared_needs(op, info.n_inputs, info.n_outputs);
  if (op.needs &&
      run_step(op, "backward_needs", &info, [&] { return op.needs(op.user, &info, needs.data()); }))
    throw_op_error(op, "backward_needs");
  if (std::ranges::all_of(needs, [](std::uint8_t need) { return need != 0; })) return {};
  return needs;
}

std::string fault_of_need(const tarsia_op& op, std::string_view name) {
  std::string known;
  int n = 0;
  const auto count = [&](const std::string& one) {
    known += (known.empty() ? "" : ", ") + one;
    n += one == name;
  };
  for (std::uint32_t i = 0; i < op.n_outputs; ++i) count(std::string("d") + op.outputs[i].name);
  for (std::uint32_t i = 0; i < op.n_inputs; ++i) count(op.inputs[i].name);
  for (std::uint32_t i = 0; i < op.n_outputs; ++i) count(op.outputs[i].name);
  if (n == 1) return {};
  const std::string has = "has .backward_needs with '" + std::string(name) + "', ";
  if (n) return has + "which is a port and the gradient of one: give the port another name";
  return has + "and its backward takes " + known + ": the gradient of an output has its name behind a d";
}

}  // namespace tarsia::registry
