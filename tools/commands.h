// What the command does: a function for each word that may follow `tarsia`. They give the exit code.
#pragma once

#include <string>
#include <vector>

#include "tools/options.h"

namespace tarsia::tools {

struct RunCommand {
  CompileOptions options;
  std::vector<std::string> with;       ///< further files of the source
  std::string file;                    ///< a source, or a library built ahead of time
  std::vector<std::string> arguments;  ///< for its main
};
int run(const RunCommand& command);

struct CompileCommand {
  CompileOptions options;
  std::vector<std::string> files;
  std::string output;
};
int compile(const CompileCommand& command);

int doctor(bool as_json);

}  // namespace tarsia::tools
