// What LLD says, as diagnostics.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"

namespace tarsia::jit {

/// Whether a symbol may be undefined in a module, because the process that loads it brings it: the functions
/// and variables of Python's C API, and those of a sanitizer's run-time library (debug="address").
bool may_stay_undefined(const std::string& symbol);

struct LinkMessages {
  std::vector<Diagnostic> diagnostics;
  std::set<std::string>
      of_driver;  ///< functions of the CUDA driver that are undefined; not in the diagnostics
};

/// Reads LLD's log. `names` are the inputs' names for people, by their paths; `cuda_folders` hold CUDA's
/// headers, which tell whether an undefined function is one of the device. Undefined symbols are errors, save
/// those that may stay undefined.
LinkMessages read_messages(const std::string& log, const std::map<std::string, std::string>& names,
                           const std::vector<std::string>& cuda_folders = {});

}  // namespace tarsia::jit
