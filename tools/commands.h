// The subcommands: a function for each word that may follow `tarsia`. They return the exit code.
#pragma once

#include <cstdint>
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

struct CheckCommand {
  CompileOptions options;
  std::string file;                     ///< a source, or a library built ahead of time
  std::vector<std::string> ops;         ///< none: all
  std::string shapes, dtypes;           ///< "3,4;4,5" and "float32;int64"
  std::vector<std::string> attributes;  ///< "NAME=VALUE"
  bool gradient = true;
  bool asan = false;
  bool exact_memory = false;
  uint64_t seed = 0;
};
int check(const CheckCommand& command);

int doctor(bool as_json);

}  // namespace tarsia::tools
