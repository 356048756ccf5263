// The gradient of a graph: adds the backward passes that lead from some values to others.
#pragma once

#include <span>
#include <vector>

#include "graph/graph.h"

namespace tarsia::graph {

/// A value and its gradient, from which the others follow.
struct Seed {
  ValueId value;
  ValueId gradient;  ///< of the same shape and dtype; k_none: ones
};

/// Adds nodes that compute the gradients of the seeds' sum with respect to `wrt`, and returns them in that
/// order. A value of several uses is summed up in place: the first backward pass writes its gradient and the
/// others add to it. A value on which no seed depends gets zeros. Throws ArgumentError for values that have
/// no gradient (states, outputs of `fill`), and Unsupported, which names the node, where an op has no
/// backward.
std::vector<ValueId> add_gradient(Graph& graph, std::span<const Seed> seeds, std::span<const ValueId> wrt);

}  // namespace tarsia::graph
