// Opens a file of the command line: compiles or loads it, and prints the compiler's messages.
#pragma once

#include <tarsia/c_api.h>

#include <chrono>
#include <set>
#include <span>
#include <string>

#include "tools/options.h"
#include "tools/sources.h"

namespace tarsia::tools {

class Clock {
 public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - m_start).count();
  }

 private:
  std::chrono::steady_clock::time_point m_start = std::chrono::steady_clock::now();
};

/// Prints the steps of the last compile and their times.
void print_steps();

/// Compiles a source, or loads a library built ahead of time. After an error, prints it, sets `exit` to the
/// exit code and returns null.
tarsia_library* open_library(const std::string& file, const CompileOptions& options, const Sources& sources,
                             int& exit);

/// Whether the compiler knows the names behind -W that a compile with `compiled` does not tell it. If not,
/// prints which it does not know, and sets `exit` to the exit code.
bool knows_warnings(const CompileOptions& given, const Options& compiled, int& exit);

/// Prints the warnings that the options select. Returns false if one of them counts as an error.
bool print_warnings(std::span<const tarsia_diagnostic> warnings, const CompileOptions& options,
                    const Sources& sources, std::set<std::string>* shown_before = nullptr);

/// Does the same for the warnings of this thread's last compile. Those in `shown` were printed of the source
/// before, and count without being printed again; the others come into it.
bool print_last_warnings(const CompileOptions& options, const Sources& sources,
                         std::set<std::string>* shown = nullptr);

}  // namespace tarsia::tools
