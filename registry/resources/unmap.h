// Unmapping libraries that hold device code.
#pragma once

namespace tarsia::registry {

/// Closes a mapped library (dlclose) once all work launched before is done on every GPU. Its addresses are
/// not used again in this process (unmap.cpp says why).
void unmap_when_idle(void* handle) noexcept;

}  // namespace tarsia::registry
