// The choice of an implementation: by inference, or by device, storage types, predicate and priority.
#pragma once

#include <tarsia/detail/names.h>
#include <tarsia/op_abi.h>

#include <string>
#include <vector>

#include "registry/op/measured.h"

namespace tarsia::registry {

/// What is known of an op when the implementations of its passes are chosen.
struct ChoiceOf {
  const tarsia_op& op;
  const tarsia_bind_info& info;
  /// The same with every tensor dense; null: every tensor is dense anyway.
  const tarsia_bind_info* dense = nullptr;
  /// What was measured of the passes, which then decides; null: nothing.
  const MeasuredPasses* measured = nullptr;
};

/// The implementation that runs a pass.
struct Choice {
  const tarsia_implementation* implementation = nullptr;  ///< null: none applies
  bool is_dense = false;                                  ///< it gets dense tensors, where some are sparse
};

/// Chooses, and tells the log. An implementation that takes the storage types comes before one that needs
/// dense tensors. Throws if a predicate does, and OpError if inference chose a name that no forward for the
/// device has.
Choice choose(const ChoiceOf& of, tarsia_pass pass);

/// All implementations of a pass that apply to tensors as they are, in declared order, of which choose()
/// takes one; empty if inference chose, or if none takes the storage types. Throws as choose.
std::vector<const tarsia_implementation*> candidates(const ChoiceOf& of, tarsia_pass pass);

/// Says what runs a pass, and why each other implementation of it does not: a line each. Throws as choose.
std::string explain_choice(const ChoiceOf& of, tarsia_pass pass);

/// What people call an implementation of the op: its name, or "cpu #2", the second of its device and pass.
std::string name_of(const tarsia_op& op, const tarsia_implementation& implementation);

/// The names of the implementations of a pass for messages, as in "'fast' and 'cpu #2'": those of the device
/// type; of all, with type 0.
std::string names_of(const tarsia_op& op, tarsia_pass pass, std::int32_t device_type);

using detail::pass_name;
/// "cpu", "gpu".
const char* device_name(bool gpu);
/// "the CPU", "GPU 1".
std::string device_text(tarsia_device device);

}  // namespace tarsia::registry
