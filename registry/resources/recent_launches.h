// What was launched last, by name: an error of device code shows at a later call, which says who may have
// done it.
#pragma once

#include <string>

#include "base/cuda_driver.h"

namespace tarsia::registry {

/// A copy of the name that lives as long as the process: libraries may be gone when it is read.
const char* kept_name(const std::string& name);

/// Notes a launch; `device` -1 if it is not known. Of two at the same moment one may be lost.
void note_launch(const char* kept_name, int device) noexcept;

/// "; launched before it, the latest first: …", or "" if nothing was.
std::string recent_launches();

/// Whether an error means that device code went wrong and the context is lost: an illegal address and the
/// like.
bool is_fatal(CuResult result) noexcept;

/// TARSIA_DEBUG_SYNC: whether each launch is waited for, so that errors are those of the launch.
bool debug_sync() noexcept;

/// Waits for the stream if debug_sync() and no graph is captured there. Throws CudaError that names the
/// launch.
void wait_for_debugging(const char* name, void* stream);

}  // namespace tarsia::registry
