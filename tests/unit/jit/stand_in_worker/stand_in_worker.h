// The program of the stand-in worker, for the tests and benchmarks that start it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/paths.h"
#include "jit/build_id.h"
#include "jit/client/worker_process.h"

namespace tarsia::jit {

/// A worker without compilers: stand_in_worker.cpp says which sources and arguments it
/// knows.
inline WorkerProgram stand_in_worker(std::vector<std::string> arguments = {}) {
  return {.path = library_dir() + "/stand_in_worker",
          .arguments = std::move(arguments),
          .build_id = std::string(build_id())};
}

}  // namespace tarsia::jit
