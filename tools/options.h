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
};

/// Lets `command` take them: those of the table that have a name in the command, and --verbose.
void add_compile_options(CLI::App& command, CompileOptions& options);

/// The options under which a source of files is compiled: its files' own folders come first.
Options options_for(const Sources& sources, const CompileOptions& given, const std::string& name);

}  // namespace tarsia::tools
