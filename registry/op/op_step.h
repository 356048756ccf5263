// Calls of the functions of an op's declaration outside of its passes: inference, attributes, state.
#pragma once

#include <tarsia/op_abi.h>

#include "registry/crash/thread_record.h"
#include "registry/resources/call_context.h"

namespace tarsia::registry {

/// Runs a function of the op's declaration. A report of its crash names the op and the function, and what it
/// was asked about: `info`, which may be null.
template <class F>
auto run_step(const tarsia_op& op, const char* function, const tarsia_bind_info* info, F&& run) {
  const OpStepScope scope(call_slot(), op, function, info);
  return run();
}

}  // namespace tarsia::registry
