// A plan for people: as JSON for the faces, and as a picture of memory over time.
#pragma once

#include <string>

#include "graph/memory_plan.h"

namespace tarsia::graph {

/// An object with `bytes`, `lower_bound`, `arenas`, `steps`, `values`, `shared` (pairs of values),
/// `implementations` (node → name), `measured` (node → name → seconds, null for one that failed) and
/// `conversions`. docs/graph.md describes it.
std::string plan_json(const Program& program, const MemoryPlan& plan);

/// An SVG: steps from left to right, addresses from bottom to top, a rectangle for each buffer, one picture
/// for each arena and one for the outputs.
std::string plan_svg(const Program& program, const MemoryPlan& plan);

}  // namespace tarsia::graph
