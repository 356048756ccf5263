// What a replay does with GPUs.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "pipeline/pipeline.h"

namespace tarsia::api {

/// Readies GPUs for the modules of the packs that are replayed: their contexts, and those kernels that can be
/// loaded before their library. Without a list: all GPUs; one that cannot be readied is then left out. CUDA
/// is not initialised where no module has device code. Returns those that are ready. Throws CudaError for a
/// GPU of the list that is not there.
std::vector<int> ready_gpus(pipeline::Pipeline& pipeline, const std::optional<std::vector<int>>& devices);

}  // namespace tarsia::api
