// What libtarsia asks of the library that brings oneTBB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tarsia::graph {

/// One step comes before another.
struct FlowEdge {
  std::uint32_t from, to;
};

/// What a run of a step calls. It throws nothing.
using FlowBody = void (*)(void* with, std::uint32_t step);
/// What the thread that runs a graph calls every 20 ms while it waits. It throws nothing.
using FlowAsk = void (*)(void* with);

extern "C" {
/// A graph of n steps for this many threads; null where it cannot be made. One thread at a time may use it.
using FlowMake = void*(std::uint32_t n, const FlowEdge* edges, std::size_t n_edges, int threads) noexcept;
/// Runs each step once, behind those that come before it, on threads of oneTBB's. False: it could not; some
/// steps may have run, and none runs any more.
using FlowRun = bool(void* flow, FlowBody body, FlowAsk ask, void* with) noexcept;
using FlowEnd = void(void* flow) noexcept;
}

inline constexpr const char *k_flow_library = "libtarsia-flow.so", *k_flow_make = "tarsia_flow_make",
                            *k_flow_run = "tarsia_flow_run", *k_flow_end = "tarsia_flow_end";

}  // namespace tarsia::graph
