// The compiler options of the command line.
#pragma once

#include <tarsia/options.h>

#include <string>

#include "tools/sources.h"

namespace CLI {
class App;
}

namespace tarsia::tools {

struct CompileOptions {
  Options options;
  bool verbose = false;
  bool no_warnings = false;           ///< -w
  std::vector<std::string> warnings;  ///< what -W was given: "NAME", "error", "no-error=NAME", "no-NAME".
                                      ///< options.cflags has those that name one warning and do not hide it
};

/// Adds the options to `command`: those of the table that have a name in the command, and --verbose.
void add_compile_options(CLI::App& command, CompileOptions& options);

/// Returns the options for compiling a source of files. The folders of the files come first.
Options options_for(const Sources& sources, const CompileOptions& given, const std::string& name);

}  // namespace tarsia::tools
