// A module in this process's memory.
#pragma once

#include <string>
#include <vector>

#include "base/file.h"
#include "base/text_origin.h"
#include "registry/crash/module_range.h"

namespace tarsia::registry {

/// What reports of crashes say about a module lives as long as the module's code may run, which is longer
/// than the library that was made of it.
struct MappedModule {
  std::string name;
  Mapping bytes;  ///< of its file
  std::vector<TextOrigin> origins;
  std::string path;        ///< that dlopen got
  void* handle = nullptr;  ///< of dlopen; null: it is not mapped
  ModuleRange range;       ///< in front of the texts that it names
};

}  // namespace tarsia::registry
