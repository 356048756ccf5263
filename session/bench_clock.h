// What :bench measures with: the host's clock, and CUDA's events where the thread uses a GPU.
//
// An event is reached when the GPU has done what was given to its default stream before, which waits for all
// streams but those made not to block. So the time between two events is the GPU's as long as the host stays
// ahead of it. Whether it does shows at the end: the GPU then has work left.
#pragma once

#include <optional>

namespace tarsia::session {

struct BenchTime {
  double host_ns = 0;            ///< until the GPU had nothing left to do
  std::optional<double> gpu_ns;  ///< between two events; none if the thread uses no GPU
  bool is_ahead = false;         ///< the GPU had work left when the host had done its part
};

/// Begins to time, once the thread's current GPU has nothing to do. Throws CudaError for what fails there.
void begin_bench();

/// Waits for that GPU, and returns the time since begin_bench() on this thread. Throws as that does.
BenchTime end_bench();

}  // namespace tarsia::session
