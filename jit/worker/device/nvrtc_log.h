// NVRTC's log as diagnostics.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "jit/compile.h"

namespace tarsia::jit {

/// Reads messages with file, line, column, and their continuation lines; template instantiations that led to
/// a message follow it as notes. Summaries and hints about NVRTC's options are left out.
std::vector<Diagnostic> parse_nvrtc_log(std::string_view log);

/// A message of ptxas that tells a line of the PTX only.
struct PtxasMessage {
  int ptx_line = 0;
  size_t diagnostic = 0;  ///< index among the diagnostics parsed
};
std::vector<PtxasMessage> ptxas_lines(const std::vector<Diagnostic>& diagnostics);

/// The source line that a line of PTX was made for, by the .loc before it; the line is 0 if there is none.
Diagnostic source_of_ptx_line(std::string_view ptx, int line);

}  // namespace tarsia::jit
