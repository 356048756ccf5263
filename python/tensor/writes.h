// Tells PyTorch of tensors that a call writes to, as its own in-place operators do: so that a backward that
// needs the old elements is an error and no wrong gradient.
#pragma once

#include "python/tensor/view.h"

namespace tarsia::python {

/// The rest of tell_writes.
bool tell_torch_of_writes(Frame& frame);

/// Before a call. Counts the version of each tensor of PyTorch that is written to. False with an error set
/// for a leaf that requires a gradient, unless under torch.no_grad(). Tensors made in inference mode have no
/// version.
inline bool tell_writes(Frame& frame) {
  return !frame.writes || frame.family == k_numpy || !frame.first_object || tell_torch_of_writes(frame);
}

}  // namespace tarsia::python
