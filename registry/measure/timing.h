// Times the implementations of an op on tensors of their own.
#pragma once

#include <span>

#include "registry/op/bound_op.h"

namespace tarsia::registry {

/// What is timed.
struct TimingRequest {
  const Ref<OpEntry>& entry;
  const tarsia_op_request& request;
  const BoundInfo& bound;
  std::span<const tarsia_implementation* const> implementations;  ///< of `pass`
  tarsia_pass pass;
  const tarsia_implementation* forward;  ///< makes what a backward takes
};

/// Nothing of the caller's changes: each implementation has a bound op, and with it a state, of its own;
/// inputs are copies of the samples, or made up; outputs are new; random numbers are its own, so that the
/// caller's go on as if none had been drawn. A reason in the result says why nothing was timed: sparse
/// tensors, integers without samples, a CUDA graph under capture, or no memory. Throws Interrupted.
Measured time_implementations(const TimingRequest& request);

}  // namespace tarsia::registry
