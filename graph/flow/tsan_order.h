// Tells ThreadSanitizer in which order steps run. oneTBB is built without it, so it sees nothing of what
// makes one step follow another. What is told is what the edges ask for, and no more: steps that touch the
// same memory without an edge between them are reported.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/flow/flow_abi.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace tarsia::graph {

#if defined(__SANITIZE_THREAD__)

class TsanOrder {
 public:
  TsanOrder(std::uint32_t n, std::span<const FlowEdge> edges) : m_before(n), m_ends(n + 1) {
    for (FlowEdge edge : edges) m_before[edge.to].push_back(edge.from);
  }
  /// On the caller's thread, and on that of a step before it reads anything of the run.
  static void begin_run(void* run) { __tsan_release(run); }
  static void enter_run(void* run) { __tsan_acquire(run); }
  void begin_step(std::uint32_t step) {
    for (std::uint32_t before : m_before[step]) __tsan_acquire(&m_ends[before]);
  }
  void end_step(std::uint32_t step) {
    __tsan_release(&m_ends[step]);
    __tsan_release(&m_ends.back());
  }
  void end_run() { __tsan_acquire(&m_ends.back()); }

 private:
  std::vector<std::vector<std::uint32_t>> m_before;
  std::vector<char> m_ends;  ///< of each step, and of all; only their addresses count
};

#else

class TsanOrder {
 public:
  TsanOrder(std::uint32_t, std::span<const FlowEdge>) {}
  static void begin_run(void*) {}
  static void enter_run(void*) {}
  void begin_step(std::uint32_t) {}
  void end_step(std::uint32_t) {}
  void end_run() {}
};

#endif

}  // namespace tarsia::graph
