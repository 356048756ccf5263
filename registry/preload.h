// Modules that are mapped, and whose kernels lie on GPUs, before anybody loads them.
#pragma once

#include <span>
#include <string>

#include "base/file.h"

namespace tarsia::registry {

/// A path that leads to the module and that no module was opened by before.
std::string unique_path(const std::string& file_path, int fd);

/// Maps a module with kernels, and loads them onto these GPUs. load_module() of the same key then takes the
/// mapping over, once. Returns false, and leaves the module to load_module(), if mapping it would run code of
/// the user's, if no kernel of it is for these GPUs, or if anything fails: the load then tells why.
bool preload(UniqueFd file, const std::string& key, std::span<const int> devices);

/// A mapping that preload() made.
struct Preloaded {
  void* handle = nullptr;  ///< of dlopen; null: there is none
  std::string path;        ///< that dlopen got
  UniqueFd file;           ///< to which the path leads
};
/// Takes over the mapping of a key.
Preloaded take_preloaded(const std::string& key);

}  // namespace tarsia::registry
