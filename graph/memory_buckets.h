// Plans of memory for graphs whose shapes change from call to call: one plan serves a bucket of shapes.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "graph/arena.h"
#include "graph/memory_plan.h"

namespace tarsia::graph {

/// Thread-safe. A program takes over the places of an earlier plan if its buffers live as long, on the same
/// devices, and all fit in; so shapes, implementations and in-place pairs are always exactly its own. The
/// first plan of programs of one structure is exact. Further ones leave room for shapes that are larger by up
/// to a quarter, and keep out of outputs, whose memory is exactly as large as a caller makes it.
class MemoryBuckets {
 public:
  /// Plans with the places of a bucket, which is made if none fits.
  MemoryPlan plan(const Program& program);
  /// How many times places were worked out.
  std::uint64_t n_planned();
  /// The memory of all runs.
  ArenaPool& pool() { return m_pool; }

 private:
  struct Bucket {
    std::vector<Buffer> buffers;  ///< with the most bytes that they may have
    std::vector<ArenaSize> arenas;
  };
  bool take_places(MemoryPlan& plan);
  bool knows_structure(const MemoryPlan& plan);

  ForkSafeMutex m_mutex;        ///< of the list and the number
  std::list<Bucket> m_buckets;  ///< what was used last in front
  std::uint64_t m_n_planned = 0;
  ArenaPool m_pool;
};

}  // namespace tarsia::graph
