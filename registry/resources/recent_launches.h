// The latest launches, by name. An error of device code shows at a later call, whose message names the
// launches that may have caused it.
#pragma once

#include <string>

#include "base/cuda/cuda_driver.h"

namespace tarsia::registry {

/// A copy of the name that lives as long as the process: its library may be gone when the name is read.
const char* kept_name(const std::string& name);

/// Notes a launch. `device` is -1 if unknown. Of two launches at the same moment, one may be lost.
void note_launch(const char* kept_name, int device) noexcept;

/// "; launched before it, the latest first: …", or "" if nothing was.
std::string recent_launches();

/// Whether an error, such as an illegal address, means that device code went wrong and the context is lost.
bool is_fatal(CuResult result) noexcept;

/// TARSIA_DEBUG_SYNC: whether to wait for each launch, so that errors belong to their launch.
bool debug_sync() noexcept;

/// Waits for the stream if debug_sync() holds and no graph is captured there. Throws CudaError that names
/// the launch.
void wait_for_debugging(const char* name, void* stream);

}  // namespace tarsia::registry
