// A graph as an op: what binds, checks and calls ops does the same for graphs, in every language and
// framework.
#pragma once

#include <string>

#include "graph/executable.h"
#include "graph/graph.h"

namespace tarsia::graph {

/// How a graph becomes an op.
struct GraphOpOptions {
  bool is_registered = false;  ///< under `name`; otherwise it is called "graph"
  std::string name;
  bool is_dynamic = false;         ///< its bindings share plans of memory and arenas: see MemoryBuckets
  bool is_differentiable = false;  ///< it has a backward; its forward keeps what that needs as hidden outputs
};

/// Makes an op of a graph as it is now. Its inputs and outputs are the graph's. A binding makes the plan;
/// calls of one binding may overlap. `*library`, "graph NAME", keeps it registered. Throws ArgumentError for
/// a graph without outputs, Unsupported for one that has to be differentiable and is not, and LoadError.
registry::Ref<registry::OpEntry> make_op(const Graph& graph, const GraphOpOptions& options,
                                         registry::Ref<registry::Library>* library);

/// What the bindings of a graph's op share; null if each is on its own, and for other ops.
MemoryBuckets* buckets_of(const registry::OpEntry& op);

/// Whether an op is a graph that changes states which it holds, or which graphs within it hold. Its runs have
/// an order, whoever uses its outputs.
bool changes_own_state(const registry::OpEntry& op);

/// What runs a bound op that make_op made; null for other ops. Lives as long as the bound op.
Executable* executable_of(const registry::BoundOp& bound);

}  // namespace tarsia::graph
