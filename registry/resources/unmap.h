// Unmaps modules when they are no longer needed.
#pragma once

#include <memory>

#include "registry/resources/mapped_module.h"

namespace tarsia::registry {

/// Closes a module (dlclose), which runs its destructors and exit handlers. If somebody else keeps it mapped,
/// it stays described.
void unmap(std::unique_ptr<MappedModule> module) noexcept;

/// The same for a module with device code, once all work launched before is done on every GPU. Its addresses
/// are not used again in this process (unmap.cpp says why).
void unmap_when_idle(std::unique_ptr<MappedModule> module) noexcept;

}  // namespace tarsia::registry
