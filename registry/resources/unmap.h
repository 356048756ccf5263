// Unmapping libraries that hold device code.
#pragma once

namespace tarsia::registry {

/// Closes a mapped library (dlclose) once nothing on any GPU that was launched before is under way. Its
/// addresses are not used again in this process (unmap.cpp says why).
void unmap_when_idle(void* handle) noexcept;

}  // namespace tarsia::registry
