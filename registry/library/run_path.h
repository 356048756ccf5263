// Names the folders of a module's libraries in its bytes, for the dynamic linker.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "registry/library/elf.h"

namespace tarsia::registry {

/// Those of the folders in which a library needs something, with colons between them, if the linker left room
/// for them in its bytes (base/machine/run_path.h); else "". Throws LoadError, naming `path`, if they do not
/// fit into k_run_path_bytes.
std::string run_path_of(std::string_view bytes, const ElfLibrary& elf,
                        const std::vector<std::string>& folders, const std::string& path);

/// The bytes with a path that run_path_of() gave.
std::string with_run_path(std::string_view bytes, const std::string& run_path);

/// The same as a file in memory. Who asks for a module's key and a path again gets the same file as long as
/// somebody holds it: the dynamic linker maps a file once, and so runs its initialisers once. Without a key,
/// each call makes a file. Thread-safe.
std::shared_ptr<const UniqueFd> file_with_run_path(const std::string& key, std::string_view bytes,
                                                   const std::string& run_path);

}  // namespace tarsia::registry
