// Modules that are mapped, and whose kernels lie on GPUs, before anybody loads them.
#pragma once

#include <span>
#include <string>

#include "base/file.h"
#include "registry/library/elf.h"

namespace tarsia::registry {

/// A path that leads to the module and that no module was opened by before.
std::string unique_path(const std::string& file_path, int fd);

/// Whether so few descriptors are taken that a library may keep one.
bool has_descriptors_to_spare(int fd);

/// Whether a library links nothing but the CUDA runtime and what comes with the system's compiler: then it is
/// its own code alone that launches.
bool links_runtime_alone(const ElfLibrary& elf);

/// Maps a module with kernels, which makes its static objects, and loads the kernels onto these GPUs.
/// load_module() of the same key then takes the mapping over, once. Returns false, and leaves the module to
/// load_module(), if it links more than the CUDA runtime, if not all kernels can be loaded onto one of the
/// GPUs, or if anything fails: the load then tells why.
bool preload(UniqueFd file, const std::string& key, std::span<const int> devices);

/// A mapping that preload() made.
struct Preloaded {
  void* handle = nullptr;  ///< of dlopen; null: there is none
  std::string path;        ///< that dlopen got
  UniqueFd file;           ///< to which the path leads; none: descriptors are scarce
};
/// Takes over the mapping of a key.
Preloaded take_preloaded(const std::string& key);

}  // namespace tarsia::registry
