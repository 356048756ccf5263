// What may stand at a place of a session's cell.
#pragma once

#include <string>
#include <vector>

#include "jit/worker/host/host_compiler.h"

namespace tarsia::jit {

struct Completions {
  std::string typed;                    ///< of the name, before the place
  std::vector<Completion> completions;  ///< sorted, each name once
};

/// Parses the unit up to the place that its request asks about (CompileRequest::complete_line). Errors before
/// it are passed over. Nothing if the place is not reached.
Completions complete_host(const HostUnit& unit, llvm::IntrusiveRefCntPtr<SourceFileSystem> files);

}  // namespace tarsia::jit
