// Graphs as JSON: docs/graph.md describes the format.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace tarsia::graph {

/// The version of the format that is written. Others are not read.
inline constexpr int k_json_version = 1;

/// Throws what reading a tensor's memory throws.
std::string to_json(const Graph& graph);

/// Nodes may stand in any order. Tensors are made on `device`; without one, where the text says. Throws
/// ArgumentError that names the node, for text that is no JSON, unknown fields and kinds, names that nobody
/// has, and cycles; and what Graph's functions throw.
Graph from_json(std::string_view text, std::optional<tarsia_device> device = {});

}  // namespace tarsia::graph
