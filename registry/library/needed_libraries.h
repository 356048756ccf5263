// Libraries that a module needs and that the dynamic linker would not find by itself.
#pragma once

#include <string>

#include "registry/library/elf.h"

namespace tarsia::registry {

/// Opens NVIDIA's libraries and OpenMP's that the module needs, and leaves them open for the life of the
/// process. Throws LoadError, naming `path`, what is missing and the remedy.
void open_needed(const ElfLibrary& elf, const std::string& path);

}  // namespace tarsia::registry
