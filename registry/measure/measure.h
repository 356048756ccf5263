// Binds ops by a measured choice: of the implementations that apply, the fastest one on this machine.
#pragma once

#include <string>

#include "registry/op/bound_op.h"

namespace tarsia::registry {

/// Binds an op as the request says, else as the innermost ChoiceScope of the thread does, else as
/// TARSIA_IMPLEMENTATION does. Ops that are bound meanwhile, such as a graph's, are chosen the same way.
/// Throws what BoundOp does, and ArgumentError for another choice.
Ref<BoundOp> bind(Ref<OpEntry> entry, const tarsia_op_request& request);

/// Says which implementations bind() would choose and why, and what was measured. Throws what bind() does,
/// except that none applies.
std::string explain_bind(const Ref<OpEntry>& entry, const tarsia_op_request& request);

/// Says how the thread's ops are chosen while it lives.
class ChoiceScope {
 public:
  explicit ChoiceScope(tarsia_choice choice) noexcept;
  ~ChoiceScope();
  ChoiceScope(const ChoiceScope&) = delete;

 private:
  tarsia_choice m_before;
};

}  // namespace tarsia::registry
