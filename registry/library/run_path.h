// Names the folders of a module's libraries in its bytes, for the dynamic linker.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "registry/library/elf.h"

namespace tarsia::registry {

/// The bytes of a library that `elf` describes, with those of the folders in which it needs something in the
/// place that the linker left for them (base/machine/run_path.h). Nothing if it left none. Throws LoadError,
/// naming `path`, if the folders have more than k_run_path_bytes.
std::optional<std::string> with_run_path(std::string_view bytes, const ElfLibrary& elf,
                                         const std::vector<std::string>& folders, const std::string& path);

}  // namespace tarsia::registry
